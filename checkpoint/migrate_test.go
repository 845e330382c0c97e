package checkpoint_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/state/message"
)

// migrating returns the schema of S with migrations.
func migrating[S any](t testing.TB, by map[string]state.Migration) *state.Schema {
	t.Helper()
	s, err := schemaOf[S](t).Migrating(by)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// reopen returns a writer on a thread with another schema.
func reopen(t testing.TB, store checkpoint.Store, schema *state.Schema) (*writer, error) {
	w := &writer{TB: t, schema: schema}
	var err error
	if w.chain, err = checkpoint.Open(ctx, store, root, schema); err == nil {
		w.view = w.chain.State
	}
	return w, err
}

// later is notes as a later program has it.
type later struct {
	Title state.List[string]        `json:"title" weft:"version=2"`            // was one text
	Lines state.List[line]          `json:"lines" weft:"version=3"`            // were texts
	Count state.Value[string]       `json:"number" weft:"version=2,was=count"` // was a sum
	Index state.Map[string, string] `json:"index" weft:"version=2"`            // were numbers
	Tags  state.Map[string, bool]   `json:"tags" weft:"version=2"`             // was a set
}

type line struct {
	Text string `json:"text"`
}

// laterSchema returns the schema of later, whose migrations note what they got.
func laterSchema(t testing.TB, got map[string]string) *state.Schema {
	each := func(name string, f func(old json.RawMessage) (any, error)) state.Migration {
		return func(from int, old json.RawMessage) (json.RawMessage, error) {
			got[name] = fmt.Sprintf("%d %s", from, old)
			v, err := f(old)
			if err != nil {
				return nil, err
			}
			return json.Marshal(v)
		}
	}
	return migrating[later](t, map[string]state.Migration{
		"title": each("title", func(old json.RawMessage) (any, error) { return []json.RawMessage{old}, nil }),
		"lines": each("lines", func(old json.RawMessage) (any, error) {
			var texts []string
			err := json.Unmarshal(old, &texts)
			all := []line{}
			for _, text := range texts {
				all = append(all, line{text})
			}
			return all, err
		}),
		"number": each("number", func(old json.RawMessage) (any, error) { return string(old), nil }),
		"index": each("index", func(old json.RawMessage) (any, error) {
			var numbers map[string]int
			err := json.Unmarshal(old, &numbers)
			texts := map[string]string{}
			for k, n := range numbers {
				texts[k] = fmt.Sprint(n)
			}
			return texts, err
		}),
		"tags": each("tags", func(old json.RawMessage) (any, error) {
			var tags []string
			err := json.Unmarshal(old, &tags)
			all := map[string]bool{}
			for _, tag := range tags {
				all[tag] = true
			}
			return all, err
		}),
	})
}

const laterWant = `{"title":["gold"],"lines":[{"text":"one"},{"text":"two"},{"text":"three"},{"text":"four"}],"number":"7","index":{"a":"1","c":"3"},"tags":{"x":true}}`

// Every kind of value, of every format that was ever written, is brought up to date.
func TestMigrate_OldValues(t *testing.T) {
	v1 := goldenSnapshot(t, "v1", "thread")
	v2 := goldenSnapshot(t, "v2", "thread")
	for name, snap := range map[string]checkpoint.Snapshot{"version 1 of the envelope": v1, "version 2": v2} {
		got := map[string]string{}
		schema := laterSchema(t, got)
		_, v, err := checkpoint.Restore(snap, schema)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if data, _ := schema.Encode(v); string(data) != laterWant {
			t.Errorf("%s: got %s, want %s", name, data, laterWant)
		}
		for field, want := range map[string]string{
			"title": `1 "gold"`, "lines": `1 ["one","two","three","four"]`, "number": "1 7", "index": `1 {"a":1,"c":3}`, "tags": `1 ["x"]`,
		} {
			if got[field] != want {
				t.Errorf("%s: the migration of %s gets %s, want %s", name, field, got[field], want)
			}
		}
	}
}

func goldenSnapshot(t *testing.T, dir, name string) (snap checkpoint.Snapshot) {
	t.Helper()
	if err := json.Unmarshal(readFile(t, goldenFile(dir, name)), &snap); err != nil {
		t.Fatal(err)
	}
	return snap
}

func TestMigrate_ThreadIsStoredWholeOnce(t *testing.T) {
	store := &scales{Store: new(checkpoint.Memory)}
	goldenThread(t, store)
	w, err := reopen(t, store, laterSchema(t, map[string]string{}))
	if err != nil {
		t.Fatal(err)
	}
	step(w, func(s *later) { s.Lines.Append(line{"five"}) })
	step(w, func(s *later) { s.Lines.Append(line{"six"}) })
	bases := store.bases[len(store.bases)-2:]
	if bases[0] != "title lines number index tags" || bases[1] != "" {
		t.Errorf("the commits store %q whole, want all fields and then none", bases)
	}
	got := map[string]string{}
	back, err := reopen(t, store, laterSchema(t, got))
	if err != nil || back.json(back.view) != w.json(w.view) || len(got) > 0 {
		t.Errorf("it comes back as %s with migrations of %v, %v", back.json(back.view), got, err)
	}
	for _, f := range back.chain.Record.Fields {
		if f.Name == "count" {
			t.Error("the field is stored under its old name too")
		}
	}
	// The past is migrated where it is looked at, and where one goes on from it.
	old, err := checkpoint.OpenAt(ctx, store, root, laterSchema(t, got), 3)
	if err != nil {
		t.Fatal(err)
	}
	if data, _ := old.State.State.(*later).Lines.MarshalJSON(); !bytes.Contains(data, []byte(`"four"`)) || !old.Branches() {
		t.Errorf("commit 3 has lines %s", data)
	}
	branch := &writer{TB: t, schema: laterSchema(t, got), chain: old, view: old.State}
	step(branch, func(s *later) { s.Tags.Put("branch", true) })
	again, err := reopen(t, store, laterSchema(t, map[string]string{}))
	if err != nil || again.json(again.view) != branch.json(branch.view) {
		t.Errorf("the branch comes back as %s, %v", again.json(again.view), err)
	}
}

// Requirement: another version wrote it
// Requirement: a release is rolled out
func TestMigrate_NewerFieldIsLeftAlone(t *testing.T) {
	store := new(checkpoint.Memory)
	goldenThread(t, store)
	w, err := reopen(t, store, laterSchema(t, map[string]string{}))
	if err != nil {
		t.Fatal(err)
	}
	step(w, func(s *later) {})
	before, err := store.Load(ctx, root, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = reopen(t, store, schemaOf[notes](t))
	var ne *checkpoint.NewerSchemaError
	if !errors.As(err, &ne) || !errors.Is(err, checkpoint.ErrNewerSchema) || ne.Field != "title" || ne.Stored != 2 || ne.Known != 1 || errors.Is(err, checkpoint.ErrCorrupt) {
		t.Errorf("the older program gets %v, want a *NewerSchemaError for title, 2 and 1", err)
	}
	after, err := store.Load(ctx, root, 0)
	if err != nil || fmt.Sprint(before) != fmt.Sprint(after) {
		t.Errorf("the thread was changed, %v", err)
	}
}

func TestMigrate_FailureChangesNothing(t *testing.T) {
	type now struct {
		Title state.Value[int] `json:"title" weft:"version=2"`
	}
	why := errors.New("no such text")
	for name, tt := range map[string]struct {
		do   state.Migration
		want string
	}{
		"fails":                {func(int, json.RawMessage) (json.RawMessage, error) { return nil, why }, "no such text"},
		"panics":               {func(int, json.RawMessage) (json.RawMessage, error) { panic("oh") }, "panicked: oh"},
		"panics with nil maps": {func(int, json.RawMessage) (json.RawMessage, error) { return nil, setNil(nil) }, "nil map"},
		"returns no JSON":      {func(int, json.RawMessage) (json.RawMessage, error) { return []byte("{"), nil }, "not JSON"},
		"returns another type": {func(_ int, old json.RawMessage) (json.RawMessage, error) { return old, nil }, "does not fit state.Value[int]"},
	} {
		memory := new(checkpoint.Memory)
		goldenThread(t, memory)
		_, err := reopen(t, untouched{memory, t}, migrating[now](t, map[string]state.Migration{"title": tt.do}))
		var me *state.MigrationError
		if !errors.As(err, &me) || !errors.Is(err, checkpoint.ErrSchema) || me.Field != "title" || me.From != 1 || me.To != 2 {
			t.Errorf("%s: got %v, want a *MigrationError", name, err)
		} else if !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), `thread "t"`) {
			t.Errorf("%s: %v does not say %q and the thread", name, err, tt.want)
		}
	}
	_, err := reopen(t, memoryWith(t), schemaOf[now](t))
	if !errors.Is(err, state.ErrNoMigration) {
		t.Errorf("without migrations: %v", err)
	}
}

// setNil panics when it gets no map.
func setNil(m map[string]int) error { m["a"] = 1; return nil }

func memoryWith(t *testing.T) checkpoint.Store {
	store := new(checkpoint.Memory)
	goldenThread(t, store)
	return store
}

func TestMigrate_MayDropAValue(t *testing.T) {
	type now struct {
		Title state.Value[int]   `json:"title" weft:"version=2,default=5"`
		Lines state.List[string] `json:"lines" weft:"version=2"`
	}
	none := func(int, json.RawMessage) (json.RawMessage, error) { return nil, nil }
	w, err := reopen(t, memoryWith(t), migrating[now](t, map[string]state.Migration{"title": none, "lines": none}))
	if err != nil {
		t.Fatal(err)
	}
	if got := w.json(w.view); got != `{"lines":[]}` {
		t.Errorf("got %s", got)
	}
}

func TestMigrate_RenamedField(t *testing.T) {
	type now struct {
		Text state.List[string]     `json:"text" weft:"was=lines"`
		Tags state.Set[string]      `json:"tags"`
		Idx  state.Map[string, int] `json:"idx" weft:"was=index"`
	}
	store := memoryWith(t)
	w := open[now](t, store)
	if got, want := w.json(w.view), `{"text":["one","two","three","four"],"tags":["x"],"idx":{"a":1,"c":3}}`; got != want {
		t.Fatalf("got %s, want %s", got, want)
	}
	step(w, func(s *now) { s.Text.Append("five") })
	names := fieldNames(w.chain.Record)
	if slices.Contains(names, "lines") || slices.Contains(names, "index") || !slices.Contains(names, "text") || !slices.Contains(names, "title") {
		t.Errorf("the commit has the fields %v", names)
	}
	back := open[now](t, store)
	if back.json(back.view) != w.json(w.view) {
		t.Errorf("it comes back as %s, want %s", back.json(back.view), w.json(w.view))
	}
	// A program that does not know the new name writes its own; the new one stays what counts,
	// and nothing is lost.
	before := open[notes](t, store)
	step(before, func(s *notes) { s.Lines.Append("old") })
	again := open[now](t, store)
	if again.json(again.view) != w.json(w.view) {
		t.Errorf("beside an older program it is %s", again.json(again.view))
	}
	step(again, func(*now) {})
	if old := open[notes](t, store); fmt.Sprint(old.view.State.(*notes).Lines.Slice()) != "[old]" {
		t.Errorf("the older program has %v", old.view.State.(*notes).Lines.Slice())
	}
}

func fieldNames(rec *checkpoint.Record) (names []string) {
	for _, f := range rec.Fields {
		names = append(names, f.Name)
	}
	return names
}

func TestMigrate_ChangedTypeNamesBothTypes(t *testing.T) {
	type scalars struct {
		Title state.Value[int] `json:"title"`
	}
	type lists struct {
		Lines state.Value[[]string] `json:"lines"`
	}
	for field, tt := range map[string]struct {
		schema *state.Schema
		want   []string
	}{
		"title": {schemaOf[scalars](t), []string{`"title"`, "state.Value[string]", "state.Value[int]", "version", "migration"}},
		"lines": {schemaOf[lists](t), []string{`"lines"`, "state.List[string]", "state.Value[[]string]", "in chunks"}},
	} {
		_, err := reopen(t, memoryWith(t), tt.schema)
		if !errors.Is(err, checkpoint.ErrSchema) || errors.Is(err, checkpoint.ErrCorrupt) {
			t.Errorf("%s: got %v, want an ErrSchema", field, err)
			continue
		}
		for _, want := range tt.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v does not say %s", field, err, want)
			}
		}
	}
}

// diary is a Delta of a user: a list that is stored under another name.
type diary struct{ state.List[string] }

func (d *diary) Channel() state.Channel { return diaryChannel{d.List.Channel().(state.Delta)} }

type diaryChannel struct{ state.Delta }

func (d diaryChannel) Fold(writes []state.Channel) error {
	inner := make([]state.Channel, len(writes))
	for i, w := range writes {
		inner[i] = w.(diaryChannel).Delta
	}
	return d.Delta.Fold(inner)
}

func (d diaryChannel) Since(prev state.Channel) (any, bool) {
	return d.Delta.Since(prev.(diaryChannel).Delta)
}

// folding is a diary that can put its pieces together.
type folding struct{ diary }

func (d *folding) Channel() state.Channel { return foldingChannel{d.diary.Channel().(diaryChannel)} }

type foldingChannel struct{ diaryChannel }

func (d foldingChannel) Fold(writes []state.Channel) error {
	inner := make([]state.Channel, len(writes))
	for i, w := range writes {
		inner[i] = w.(foldingChannel).diaryChannel
	}
	return d.diaryChannel.Fold(inner)
}

func (d foldingChannel) Since(prev state.Channel) (any, bool) {
	return d.diaryChannel.Since(prev.(foldingChannel).diaryChannel)
}

func (foldingChannel) FoldStored(pieces []json.RawMessage) (json.RawMessage, error) {
	return state.FoldStored(state.KindList, pieces)
}

func TestMigrate_ChannelOfTheUser(t *testing.T) {
	type before struct {
		Log diary `json:"log"`
	}
	type after struct {
		Log folding `json:"log" weft:"version=2"`
	}
	type lost struct {
		Log state.List[string] `json:"log" weft:"version=2"`
	}
	store := new(checkpoint.Memory)
	w := open[before](t, store)
	for _, text := range []string{"a", "b", "c"} {
		step(w, func(s *before) { s.Log.Append(text) })
	}
	keep := map[string]state.Migration{"log": func(_ int, old json.RawMessage) (json.RawMessage, error) { return old, nil }}
	back, err := reopen(t, store, migrating[after](t, keep))
	if err != nil || back.json(back.view) != `{"log":["a","b","c"]}` {
		t.Errorf("got %v", err)
	}
	if _, err := reopen(t, store, migrating[lost](t, keep)); !errors.Is(err, checkpoint.ErrSchema) || !strings.Contains(err.Error(), "diary") {
		t.Errorf("pieces of an unknown channel give %v, want an ErrSchema that names it", err)
	}
}

// Channels whose stored differences are of their own form can be migrated too.
func TestMigrate_ContextsAndMessagesInChunks(t *testing.T) {
	type before struct {
		Known state.ContextData `json:"known"`
		Log   message.Log       `json:"log"`
	}
	type after struct {
		Known state.ContextData `json:"known" weft:"version=2"`
		Log   message.Log       `json:"log" weft:"version=2"`
	}
	store := new(checkpoint.Memory)
	w := open[before](t, store)
	for _, name := range []string{"a", "b", "c"} {
		step(w, func(s *before) {
			if err := s.Known.Put("CITY", name, state.ContextEntry{Fields: `{"name":"` + name + `"}`}); err != nil {
				t.Fatal(err)
			}
			if name == "c" {
				s.Known.Delete("CITY", "a")
			}
			m := message.User("text " + name)
			m.ID = name
			if err := s.Log.Add(m); err != nil {
				t.Fatal(err)
			}
		})
	}
	want := w.json(w.view)
	got := map[string]string{}
	keep := func(name string) state.Migration {
		return func(_ int, old json.RawMessage) (json.RawMessage, error) {
			got[name] = string(old)
			return old, nil
		}
	}
	back, err := reopen(t, store, migrating[after](t, map[string]state.Migration{"known": keep("known"), "log": keep("log")}))
	if err != nil {
		t.Fatal(err)
	}
	if s := back.json(back.view); s != want {
		t.Errorf("got  %s\nwant %s\nmigrated %v", s, want, got)
	}
	if strings.Contains(got["known"], "CITY/a") || !strings.Contains(got["known"], "CITY/b") || strings.Count(got["log"], "text ") != 3 {
		t.Errorf("the migrations got %v, want whole values", got)
	}
}
