package studio

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/weftrun/weft/graph"
	h "github.com/weftrun/weft/internal/markup"
)

func TestDecision_ShowsItsResult(t *testing.T) {
	value, args := json.RawMessage(`{"type":"approve"}`), json.RawMessage(`{"n":1}`)
	for _, c := range []struct {
		d            graph.DecisionRecord
		result, cell string
	}{
		{graph.DecisionRecord{Type: graph.DecisionApprove, Value: value}, "approved", ""},
		{graph.DecisionRecord{Type: graph.DecisionReject, Value: value, Message: "no"}, "rejected", ""},
		{graph.DecisionRecord{Type: graph.DecisionEdit, Value: value, Args: args}, `approved with changes, {"n":1}`, "{&#34;n&#34;:1}"},
		{graph.DecisionRecord{Type: graph.DecisionRespond, Value: json.RawMessage("7")}, "answered, 7", "<code>7</code>"},
		{graph.DecisionRecord{Type: graph.DecisionRespond, Value: json.RawMessage("7"), Secret: true}, "answered", "secret"},
		{graph.DecisionRecord{Type: graph.DecisionEdit, Args: args, Secret: true}, "approved with changes", "secret"},
		{graph.DecisionRecord{Type: graph.DecisionRespond, Value: json.RawMessage(`"` + strings.Repeat("a", 200) + `"`)}, "answered", "text of 200 characters"},
	} {
		if got := resultOf(c.d); got != c.result {
			t.Errorf("%+v: got the result %q, want %q", c.d, got, c.result)
		}
		cell := h.String(decidedValue(c.d))
		if !strings.Contains(cell, c.cell) || c.cell == "" && cell != "" || c.d.Secret && strings.ContainsAny(cell, "17{") {
			t.Errorf("%+v: got the cell %q, want %q in it", c.d, cell, c.cell)
		}
	}
}
