package state_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weftrun/weft/state"
)

var (
	aType = rapid.SampledFrom([]string{"A", "B", "A-B"})
	aKey  = rapid.SampledFrom([]string{"k", "l", "m/n", `"`})
)

// know makes one random write.
func know(t *rapid.T, c *state.ContextData) {
	typ, key := aType.Draw(t, "type"), aKey.Draw(t, "key")
	var err error
	switch rapid.IntRange(0, 6).Draw(t, "op") {
	case 0:
		c.Delete(typ, key)
	case 1:
		c.Clear(typ)
	case 2:
		err = c.Declare(typ)
	default:
		err = c.Put(typ, key, entry(anInt.Draw(t, "n"), rapid.SampledFrom([]string{"", "find", "plot"}).Draw(t, "by")))
	}
	if err != nil {
		t.Fatal(err)
	}
}

func entry(n int, by string) state.ContextEntry {
	e := state.ContextEntry{Fields: fmt.Sprintf(`{"z": %d, "a": "<ü>"}`, n), Meta: state.ContextMeta{Capability: by}}
	if n > 0 {
		e.Meta.Time = time.Date(2026, 1, n, 1, 2, 3, 4, time.FixedZone("somewhere", 3600))
	}
	return e
}

func TestContextData_IsADocumentOfThreeLevels(t *testing.T) {
	var c state.ContextData
	must(t, c.Put("PV", "beam", state.ContextEntry{
		Fields: ` {"pvs" : ["SR:C01"], "n": 1.50} `,
		Meta:   state.ContextMeta{Objective: "find PVs", Capability: "find", Run: "r1"},
	}))
	must(t, c.Put("PV", "a/b", state.ContextEntry{Fields: `{}`}))
	must(t, c.Declare("EMPTY"))
	want := `{"EMPTY":{},"PV":{"a/b":{},"beam":{"_meta":{"task_objective":"find PVs","capability":"find","run":"r1"},"n":1.50,"pvs":["SR:C01"]}}}`
	if got := c.String(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	var back state.ContextData
	must(t, json.Unmarshal([]byte(want), &back))
	if got := back.String(); got != want {
		t.Errorf("read back: got %s, want %s", got, want)
	}
	if e, ok := back.Lookup("PV", "beam"); !ok || e.Fields != `{"n":1.50,"pvs":["SR:C01"]}` || e.Meta.Objective != "find PVs" {
		t.Errorf("Lookup: got %+v, %v", e, ok)
	}
	if got := back.Types(); !slices.Equal(got, []string{"EMPTY", "PV"}) {
		t.Errorf("Types: got %v", got)
	}
	if got := back.Keys("PV"); !slices.Equal(got, []string{"a/b", "beam"}) || back.Len() != 2 {
		t.Errorf("Keys: got %v of %d", got, back.Len())
	}
	if back.Has("PV", "") || back.Has("EMPTY", "") {
		t.Error("a declared type counts as an entry")
	}
}

func TestContextData_RefusesWhatItCannotStore(t *testing.T) {
	for _, tt := range []struct {
		typ, key, fields string
		want             error
	}{
		{"", "k", `{}`, state.ErrContextName},
		{"A/B", "k", `{}`, state.ErrContextName},
		{"A", "", `{}`, state.ErrContextName},
		{"A", "k", ``, state.ErrContextFields},
		{"A", "k", `null`, state.ErrContextFields},
		{"A", "k", `[1]`, state.ErrContextFields},
		{"A", "k", `{"_meta":1}`, state.ErrContextFields},
		{"A", "k", `{"a":1} x`, state.ErrContextFields},
	} {
		var c state.ContextData
		if err := c.Put(tt.typ, tt.key, state.ContextEntry{Fields: tt.fields}); !errors.Is(err, tt.want) || c.Channel().Wrote() {
			t.Errorf("Put(%q, %q, %s): got %v (wrote: %v), want %v", tt.typ, tt.key, tt.fields, err, c.Channel().Wrote(), tt.want)
		}
	}
	for _, doc := range []string{`[]`, `{"A":[]}`, `{"A":{"k":1}}`, `{"A":{"j":{},"":{}}}`, `{"":{"k":{}}}`, `{"":null}`, `{"A":{"k":{"_meta":7}}}`} {
		var c state.ContextData
		if err := json.Unmarshal([]byte(doc), &c); err == nil || c.Channel().Wrote() {
			t.Errorf("%s: got %v (wrote: %v), want an error and no write", doc, err, c.Channel().Wrote())
		}
	}
	var c state.ContextData
	for _, typ := range []string{"", "a/b"} {
		if err := c.Declare(typ); !errors.Is(err, state.ErrContextName) {
			t.Errorf("Declare(%q): got %v", typ, err)
		}
	}
}

func TestContextData_NullsInADocumentAreTombstones(t *testing.T) {
	c := knowing(t, `{"A":{"k":{"n":1},"l":{"n":2}},"B":{"k":{}},"C":{"k":{}}}`)
	for _, tt := range []struct{ doc, want string }{
		{`null`, `{"A":{"k":{"n":1},"l":{"n":2}},"B":{"k":{}},"C":{"k":{}}}`},
		{`{}`, `{"A":{"k":{"n":1},"l":{"n":2}},"B":{"k":{}},"C":{"k":{}}}`},
		{`{"A":{}}`, `{"A":{"k":{"n":1},"l":{"n":2}},"B":{"k":{}},"C":{"k":{}}}`},
		{`{"A":{"k":null},"B":null,"C":{"l":{}}}`, `{"A":{"l":{"n":2}},"C":{"k":{},"l":{}}}`},
	} {
		w := c
		must(t, json.Unmarshal([]byte(tt.doc), &w))
		if got := w.String(); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.doc, got, tt.want)
		}
	}
}

func TestContextData_SiblingsThatWriteOneEntryConflict(t *testing.T) {
	base := knowing(t, `{"A":{"old":{"n":0}}}`)
	a, b, c := base, base, base
	must(t, a.Put("A", "k", entry(1, "find")))
	must(t, b.Put("A", "k", entry(2, "")))
	must(t, b.Put("A", "old", entry(3, "plot")))
	must(t, c.Put("A", "k", entry(3, "plot")))
	must(t, c.Put("A", "old", entry(3, "plot"))) // an equal entry: none is lost
	must(t, base.Channel().Fold([]state.Channel{a.Channel(), b.Channel(), c.Channel()}))
	e, _ := base.Lookup("A", "k")
	if want := []string{"find", "?"}; e.Meta.Capability != "plot" || !slices.Equal(e.Meta.Replaced, want) {
		t.Errorf("got %+v, want plot's entry and %v as replaced", e, want)
	}
	if e, _ := base.Lookup("A", "old"); e.Meta.Replaced != nil {
		t.Errorf("an entry of an earlier step, and an equal one, count as lost: %+v", e)
	}
}

func TestContextData_EqualPutChangesNothing(t *testing.T) {
	base := knowing(t, `{"A":{"k":{"n":1,"_meta":{"capability":"find"}}}}`)
	before, again := base, knowing(t, base.String())
	must(t, json.Unmarshal([]byte(base.String()), &again))
	must(t, base.Channel().Fold([]state.Channel{again.Channel()}))
	v, ok := base.Channel().(state.Delta).Since(before.Channel())
	data, err := json.Marshal(v)
	if err != nil || !ok || string(data) != `{}` {
		t.Errorf("got the difference %s, %v, %v; want none", data, ok, err)
	}
}

func TestContextData_KeepsItsBytesThroughAnyDocument(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c, back state.ContextData
		for range rapid.IntRange(0, 9).Draw(t, "writes") {
			know(t, &c)
		}
		if err := json.Unmarshal([]byte(c.String()), &back); err != nil {
			t.Fatal(err)
		}
		if got, want := back.String(), c.String(); got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
	})
}

func FuzzContextData(f *testing.F) {
	f.Add(`{"A":{"k":{"n":1,"_meta":{"time":"2026-01-02T03:04:05+01:00"}}},"B":{},"C":null}`)
	f.Fuzz(func(t *testing.T, doc string) {
		var c, back state.ContextData
		if json.Unmarshal([]byte(doc), &c) != nil {
			return
		}
		data, err := c.MarshalJSON()
		if err != nil {
			t.Fatalf("%q was read and cannot be written: %v", doc, err)
		}
		must(t, json.Unmarshal(data, &back))
		if again := back.String(); again != string(data) {
			t.Fatalf("got %s, want %s", again, data)
		}
	})
}

// knowing returns what a thread holds that was given the document.
func knowing(t *testing.T, doc string) (c state.ContextData) {
	t.Helper()
	var w state.ContextData
	must(t, json.Unmarshal([]byte(doc), &w))
	must(t, c.Channel().Fold([]state.Channel{w.Channel()}))
	return c
}
