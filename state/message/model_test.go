package message_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/state/message"
)

// model is the reference model of a log: a slice.
type model []message.Message

func (w model) find(id string) int {
	return slices.IndexFunc(w, func(m message.Message) bool { return m.ID == id })
}

func (w *model) put(m message.Message) {
	if i := w.find(m.ID); i >= 0 {
		(*w)[i] = m
		return
	}
	*w = append(*w, m)
}

func (w *model) del(id string) {
	if i := w.find(id); i >= 0 {
		*w = slices.Delete(*w, i, i+1)
	}
}

func (w *model) replace(id string, m message.Message) {
	if w.find(id) < 0 || id == m.ID {
		w.put(m)
		return
	}
	w.del(m.ID)
	(*w)[w.find(id)] = m
}

// act is one write, to a log and to its model.
type act struct {
	kind int
	id   string
	m    message.Message
}

// anID is one of many, so that the log has several pages.
var anID = rapid.Custom(func(t *rapid.T) string { return fmt.Sprint("i", rapid.IntRange(0, 80).Draw(t, "id")) })

var acts = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) act {
	a := act{kind: rapid.IntRange(0, 30).Draw(t, "kind"), id: anID.Draw(t, "whom")}
	a.m = message.User(rapid.SampledFrom([]string{"a", "b"}).Draw(t, "text"))
	a.m.ID = anID.Draw(t, "id")
	return a
}), 0, 120)

// on makes the write where the holder of the log can.
func (a act) on(t *rapid.T, l *message.Log, w *model) {
	_, there := l.ByID(a.id)
	switch {
	case a.kind == 0:
		l.RemoveAll()
		*w = nil
	case a.kind < 8 && there:
		ok(t, l.Remove(a.id))
		w.del(a.id)
	case a.kind < 14 && there:
		ok(t, l.Replace(a.id, a.m))
		w.replace(a.id, a.m)
	default:
		ok(t, l.Add(a.m))
		w.put(a.m)
	}
}

func ok(t *rapid.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestLog_EqualsItsModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l message.Log
		var w model
		for range rapid.IntRange(1, 4).Draw(t, "steps") {
			before, old := l, l.String()
			view := l
			for _, a := range acts.Draw(t, "acts") {
				a.on(t, &view, &w)
			}
			same(t, &view, w)
			if view.Channel().Wrote() {
				ok(t, l.Channel().Fold([]state.Channel{view.Channel()}))
			}
			same(t, &l, w)
			restored(t, &before, &l)
			if before.String() != old {
				t.Fatal("an earlier copy of the log changed")
			}
		}
	})
}

// same compares all that can be read of a log.
func same(t *rapid.T, l *message.Log, w model) {
	t.Helper()
	if got, want := l.String(), asJSON(t, append(model{}, w...)); got != want {
		t.Fatalf("got %s, want %s", got, want)
	}
	if l.Len() != len(w) {
		t.Fatalf("got length %d, want %d", l.Len(), len(w))
	}
	for i, m := range w {
		got, there := l.ByID(m.ID)
		if asJSON(t, l.At(i)) != asJSON(t, m) || !there || asJSON(t, got) != asJSON(t, m) {
			t.Fatalf("message %d: At gives %v, ByID %v, want %v", i, l.At(i), got, m)
		}
	}
	if last, there := l.Last(); there != (len(w) > 0) || there && last.ID != w[len(w)-1].ID {
		t.Fatalf("Last gives %v, %t", last, there)
	}
}

// restored stores prev and what came since, and reads them back.
func restored(t *rapid.T, prev, now *message.Log) {
	t.Helper()
	var back message.Log
	if v, there := prev.Channel().Stored(); there {
		ok(t, back.Channel().Restore(decoder(asJSON(t, v))))
	}
	diff, small := now.Channel().(state.Delta).Since(prev.Channel())
	if !small {
		return
	}
	ok(t, back.Channel().(state.Delta).Apply(decoder(asJSON(t, diff))))
	if back.String() != now.String() {
		t.Fatalf("%s and %s gave %s, want %s", prev, asJSON(t, diff), back, now)
	}
}

func asJSON(t interface{ Fatal(...any) }, v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func decoder(data string) state.Decode {
	return func(into any) error { return json.Unmarshal([]byte(data), into) }
}

// Tasks of one step that write to their views come to the same as if one had written
// after the other, wherever the ids are the program's own.
func TestLog_ReplaysTasksInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		run := message.LogOf()
		var w model
		for _, a := range acts.Draw(t, "past") {
			a.on(t, &run, &w)
		}
		var base message.Log
		if run.Channel().Wrote() {
			ok(t, base.Channel().Fold([]state.Channel{run.Channel()}))
		}
		var writes []state.Channel
		for range rapid.IntRange(1, 3).Draw(t, "tasks") {
			view, blind := base, append(model{}, nil...)
			for _, a := range acts.Draw(t, "acts") {
				made := a
				if _, there := view.ByID(a.id); !there && a.kind > 0 && a.kind < 14 {
					made.kind = 20
				}
				made.on(t, &view, &blind)
				switch { // and on the model, as the step replays it
				case made.kind == 0:
					w = nil
				case made.kind < 8:
					w.del(a.id)
				case made.kind < 14:
					w.replace(a.id, a.m)
				default:
					w.put(a.m)
				}
			}
			if view.Channel().Wrote() {
				writes = append(writes, view.Channel())
			}
		}
		if len(writes) > 0 {
			ok(t, base.Channel().Fold(writes))
		}
		same(t, &base, w)
	})
}

func FuzzLogUnmarshalJSON(f *testing.F) {
	for _, seed := range []string{
		`"hi"`, `null`, `[]`, `[null]`, `{"role":"USER","content":"x"}`, `[{"remove":"x"}]`, `[{"remove_all":true}]`,
		`[{"id":"a","role":"ai","tool_calls":[{"id":"c","name":"t","arguments_text":"{"}],"x":1}]`,
		`[{"role":"tool","tool_results":[{"tool_call_id":"c","content":[{"type":"image","url":"u"}]}]},{"replace":"a","with":{"role":"user","content":"b"}}]`,
		`[{"append":{"id":"z","role":"user","content":[{"type":"thought","sig":"s"}]}}]`, `[{"role":"user","content":"a","ROLE":"tool"}]`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data string) {
		var l message.Log
		if err := l.UnmarshalJSON([]byte(data)); err != nil {
			if l.Channel().Wrote() || l.Len() > 0 {
				t.Fatalf("an error, and yet written: %s", l)
			}
			return
		}
		if !l.Channel().Wrote() {
			return
		}
		var back, base message.Log
		w := l.Channel().Writes()
		if err := back.Channel().RestoreWrites(w.Overwrite, decoder(asJSON(t, w.Value))); err != nil {
			t.Fatal(err)
		}
		if asJSON(t, back) != asJSON(t, l) {
			t.Fatalf("restored writes show %s, want %s", back, l)
		}
		if base.Channel().Fold([]state.Channel{l.Channel()}) != nil {
			return // it removes what is not there
		}
		var again message.Log
		if err := again.UnmarshalJSON([]byte(base.String())); err != nil {
			t.Fatalf("what was read cannot be read again: %v", err)
		}
		if again.String() != base.String() {
			t.Fatalf("read, written and read: %s, want %s", again, base)
		}
		for _, m := range base.All() {
			if m.ID == "" {
				t.Fatalf("a message without an id: %s", base)
			}
		}
	})
}
