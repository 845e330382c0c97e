package chat

import (
	"encoding/json"
	"testing"

	"github.com/weftrun/weft/graph"
)

func TestComplete_EditAndTab(t *testing.T) {
	c := &dialogue{open: []graph.Interrupt{{Data: json.RawMessage(`{"data":{"file":"rain.csv"}}`)}}}
	for _, line := range []string{"/edit", "/edit "} {
		if got, _ := c.complete(line); got != `/edit {"file":"rain.csv"}` {
			t.Errorf("%q and Tab: got %q, want what is to be approved", line, got)
		}
	}
}
