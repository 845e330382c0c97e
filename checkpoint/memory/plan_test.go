package memory_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint/memory"
)

func TestPlan_RepeatedWriteHasNoVersionOfAnother(t *testing.T) {
	w := memory.Write{Namespace: []string{"a"}, ID: "mine"}
	for _, key := range []string{"stays", "replaced", "removed", "gone", "touched"} {
		c := memory.Change{Key: key, Value: []byte(`1`)}
		switch key {
		case "gone":
			c.Value = nil
		case "touched":
			c.Value, c.Touch = nil, true
		}
		w.Changes = append(w.Changes, c)
	}
	rows, done, err := w.Plan(time.Now(), []memory.Stored{
		{Item: memory.Item{Key: "stays", Value: json.RawMessage(`1`), Version: 1}, ID: "mine"},
		{Item: memory.Item{Key: "replaced", Value: json.RawMessage(`2`), Version: 7}, ID: "other"},
		{},
		{Item: memory.Item{Key: "gone", Value: json.RawMessage(`2`), Version: 8}, ID: "other"},
		{Item: memory.Item{Key: "touched", Value: json.RawMessage(`2`), Version: 9}, ID: "other"},
	})
	if err != nil || !done {
		t.Fatalf("a write that was made: got done %v, %v", done, err)
	}
	var got []string
	for _, r := range rows {
		got = append(got, fmt.Sprintf("%s=%s v%d", r.Key, r.Value, r.Version))
	}
	if text, want := fmt.Sprint(got), "[stays=1 v1 replaced=2 v0 = v0 = v0 touched=2 v9]"; text != want {
		t.Errorf("rule: a repeated write has the version of no other\n got: %s\nwant: %s", text, want)
	}
}
