package graph_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
)

// deltas is a state of fields that are stored as a base and chunks. Each has a reference field that
// gets the same writes and is stored whole.
type deltas struct {
	List state.List[string]                 `json:"list"`
	Map  state.Map[string, int]             `json:"map"`
	Set  state.Set[string]                  `json:"set"`
	Lap  state.Sum[int]                     `json:"lap"`
	Turn state.List[string]                 `json:"turn" weft:"turn,default=[\"first\"]"`
	L    state.Reduced[[]string, appended]  `json:"l"`
	M    state.Reduced[map[string]int, put] `json:"m"`
	S    state.Reduced[map[string]int, put] `json:"s"`
	T    state.Reduced[[]string, appended]  `json:"t" weft:"turn,default=[\"first\"]"`
}

type appended struct{}

func (appended) Reduce(acc, more []string) []string { return append(slices.Clone(acc), more...) }

// put merges by key; a value below zero deletes its key.
type put struct{}

func (put) Reduce(acc, more map[string]int) map[string]int {
	acc = maps.Clone(acc)
	if acc == nil {
		acc = map[string]int{}
	}
	for k, v := range more {
		if acc[k] = v; v < 0 {
			delete(acc, k)
		}
	}
	return acc
}

// write is one write to a field and to its reference field.
type write struct {
	op   int
	key  string
	many []string
	n    int
}

func (w write) do(s *deltas) {
	entries := map[string]int{}
	for i, k := range w.many {
		entries[k] = i
	}
	switch w.op {
	case 0:
		s.List.Append(w.many...)
		s.L.Update(w.many)
	case 1:
		s.Turn.Append(w.key)
		s.T.Update([]string{w.key})
	case 2:
		s.Map.Put(w.key, w.n)
		s.M.Update(map[string]int{w.key: w.n})
	case 3:
		s.Map.Delete(w.key)
		s.M.Update(map[string]int{w.key: -1})
	case 4:
		s.Set.Add(w.key)
		s.S.Update(map[string]int{w.key: 0})
	case 5:
		s.Set.Remove(w.key)
		s.S.Update(map[string]int{w.key: -1})
	case 6:
		s.List.Overwrite(w.many)
		s.L.Overwrite(w.many)
	case 7:
		s.Map.Overwrite(entries)
		s.M.Overwrite(entries)
	}
}

// texts returns the fields and their reference fields, each as JSON.
func (s *deltas) texts() (fields, references string) {
	text := func(all ...any) string {
		data, err := json.Marshal(all)
		if err != nil {
			return err.Error()
		}
		return string(data)
	}
	some := func(list []string) []string { return append([]string{}, list...) }
	entries := func(m map[string]int) map[string]int { return put{}.Reduce(m, nil) }
	m := map[string]int{}
	for k, v := range s.Map.All() {
		m[k] = v
	}
	return text(s.List.Slice(), m, s.Set.Slice(), s.Turn.Slice()),
		text(some(s.L.Get()), entries(s.M.Get()), some(slices.Sorted(maps.Keys(s.S.Get()))), some(s.T.Get()))
}

var (
	aWrite = rapid.Custom(func(t *rapid.T) write {
		long := rapid.SampledFrom([]string{"a", "b", "c", strings.Repeat("long ", 60)})
		return write{
			op:   rapid.SampledFrom([]int{0, 0, 0, 1, 1, 2, 2, 3, 4, 4, 5, 6, 7}).Draw(t, "op"),
			key:  fmt.Sprint("k", rapid.IntRange(0, 30).Draw(t, "key")),
			many: rapid.SliceOfN(long, 0, 3).Draw(t, "many"),
			n:    rapid.IntRange(0, 9).Draw(t, "n"),
		}
	})
	// aStep is what two nodes write in one step; only one of them overwrites.
	aStep = rapid.Custom(func(t *rapid.T) [2][]write {
		one := rapid.SliceOfN(aWrite, 0, 3).Draw(t, "one")
		two := rapid.SliceOfN(aWrite.Filter(func(w write) bool { return w.op < 6 }), 0, 3).Draw(t, "two")
		return [2][]write{one, two}
	})
)

// chunkThread is a thread for random actions, with the text of each commit when it was made.
type chunkThread struct {
	*rapid.T
	store  *checkpoint.Memory
	g      *graph.Graph[deltas]
	script [][2][]write // what the two nodes write in each lap; it repeats
	left   int          // the laps that are left, after which the run ends or fails
	fails  bool
	held   map[uint64]string
}

// Fields stored as chunks equal those stored whole: at each Durability, with branches, edits,
// failures and pruning, at each commit, when it is made and at the end.
//
// Requirement: The stored form of a field is invisible
func TestChunks_EqualFieldsStoredWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &chunkThread{T: t, store: new(checkpoint.Memory), held: map[uint64]string{}}
		w.compile()
		w.turn(0)
		for range rapid.IntRange(1, 12).Draw(t, "actions") {
			switch rapid.IntRange(0, 6).Draw(t, "action") {
			case 0, 1:
				w.turn(w.commit())
			case 2, 3:
				w.resume(w.commit())
			case 4, 5:
				w.patch(w.commit())
			case 6:
				w.prune()
			}
			w.check(false)
		}
		w.check(true)
	})
}

// compile makes a loop of two nodes that run in one step.
func (w *chunkThread) compile() {
	b := graph.New[deltas]("chunks")
	b.Node("one", graph.Router(func(_ context.Context, s *deltas) (graph.Command, error) {
		w.write(s, 0)
		s.Lap.Add(1)
		switch w.left--; {
		case w.left > 0:
			return graph.Goto("one", "two"), nil
		case w.fails:
			return graph.Command{}, errBoom
		}
		return graph.Goto(graph.End), nil
	}, "one", "two", graph.End))
	b.Node("two", graph.Func(func(_ context.Context, s *deltas) error { w.write(s, 1); return nil }))
	b.Edge(graph.Start, "one")
	b.Edge(graph.Start, "two")
	b.Edge("two", graph.End)
	g, err := b.Compile(graph.Config{Store: w.store})
	w.must(err)
	w.g = g
}

func (w *chunkThread) write(s *deltas, node int) {
	for _, one := range w.script[s.Lap.Get()%len(w.script)][node] {
		one.do(s)
	}
}

func (w *chunkThread) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// ended fails the test on any error but the intended one.
func (w *chunkThread) ended(err error) {
	w.Helper()
	if !errors.Is(err, errBoom) || !w.fails {
		w.must(err)
	}
}

// options draws a script and the options of a run.
func (w *chunkThread) options(at uint64) graph.RunOptions {
	w.script = rapid.SliceOfN(aStep, 1, 4).Draw(w.T, "script")
	w.left = rapid.IntRange(1, 12).Draw(w.T, "laps")
	w.fails = rapid.IntRange(0, 3).Draw(w.T, "fails") == 0
	return graph.RunOptions{Thread: "t1", At: at, Durability: rapid.SampledFrom(durabilities).Draw(w.T, "durability")}
}

func (w *chunkThread) turn(at uint64) {
	_, err := w.g.Invoke(ctx, deltas{List: state.ListOf("in"), L: state.ReducedOf[[]string, appended]([]string{"in"})}, w.options(at))
	w.ended(err)
}

func (w *chunkThread) resume(at uint64) {
	_, err := w.g.Resume(ctx, graph.Answers{}, w.options(at))
	w.ended(err)
}

func (w *chunkThread) patch(at uint64) {
	all := rapid.SliceOfN(aWrite, 1, 4).Draw(w.T, "writes")
	_, err := w.g.Patch(ctx, func(s *deltas) error {
		for _, one := range all {
			one.do(s)
		}
		return nil
	}, w.options(at))
	w.must(err)
}

func (w *chunkThread) prune() {
	w.must(checkpoint.Prune(ctx, w.store, "t1", checkpoint.Keep{Last: rapid.IntRange(1, 6).Draw(w.T, "last")}))
	left := w.commits()
	maps.DeleteFunc(w.held, func(seq uint64, _ string) bool { return !slices.Contains(left, seq) })
}

func (w *chunkThread) commits() (all []uint64) {
	for p, err := range graph.History(ctx, w.store, checkpoint.Key{Thread: "t1"}, checkpoint.Query{}) {
		w.must(err)
		all = append(all, p.Checkpoint)
	}
	return all
}

// commit draws the commit to continue from, often the newest.
func (w *chunkThread) commit() uint64 {
	return rapid.SampledFrom(append(make([]uint64, 3), w.commits()...)).Draw(w.T, "at")
}

// check reads the commits that are new, or all.
func (w *chunkThread) check(all bool) {
	for _, seq := range w.commits() {
		if w.held[seq] != "" && !all {
			continue
		}
		s, _, err := w.g.Thread("t1").State(ctx, seq)
		w.must(err)
		fields, references := s.texts()
		if fields != references {
			w.Fatalf("commit %d holds\n%s\nwant, as stored whole\n%s", seq, fields, references)
		}
		if was := w.held[seq]; was != "" && was != fields {
			w.Fatalf("commit %d holds\n%s\nwant, as when it was made\n%s", seq, fields, was)
		}
		w.held[seq] = fields
	}
}
