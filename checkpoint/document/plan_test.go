package document_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/weftrun/weft/checkpoint/document"
)

func TestPlan_RepeatedWriteHasNoVersionOfAnother(t *testing.T) {
	at := document.At("c", "p")
	w := document.Write{Place: at, Name: "mine"}
	for _, id := range []string{"stays", "replaced", "removed", "gone"} {
		c := document.Change{ID: id, Value: json.RawMessage(`1`), If: new(uint64)}
		if id == "gone" {
			c.Value = nil
		}
		w.Changes = append(w.Changes, c)
	}
	current := []document.Stored{
		{Doc: document.Doc{Place: at, ID: "stays", Value: json.RawMessage(`1`), Seq: 1, Version: 1}, Write: "mine"},
		{Doc: document.Doc{Place: at, ID: "replaced", Value: json.RawMessage(`2`), Seq: 2, Version: 7}, Write: "other"},
		{},
		{Doc: document.Doc{Place: at, ID: "gone", Value: json.RawMessage(`2`), Seq: 8, Version: 8}, Write: "other"},
	}
	docs, done, err := w.Plan(current)
	if err != nil || !done {
		t.Fatalf("a write that was made: got done %v, %v", done, err)
	}
	var got []string
	for _, d := range docs {
		got = append(got, fmt.Sprintf("%s=%s v%d", d.ID, d.Value, d.Version))
	}
	if text, want := fmt.Sprint(got), "[stays=1 v1 replaced=2 v0 = v0 = v0]"; text != want {
		t.Errorf("rule: a repeated write has the version of no other\n got: %s\nwant: %s", text, want)
	}
}
