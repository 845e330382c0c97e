package graph_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
)

// Requirement: Commit before the next step
func TestRun_OfKStepsMakesKPlusOneCommits(t *testing.T) {
	store := &faultStore{Store: new(checkpoint.Memory)}
	b := graph.New[world]("commits")
	line(b, "a", "b", "c")
	res := invoke(t, build(t, b, graph.Config{Store: store}), "t1", graph.Done)
	if store.commits != 4 || store.writes != 4 || res.Checkpoint != 4 {
		t.Errorf("three steps made %d commits of %d writes, head %d; want 4, 4, 4", store.commits, store.writes, res.Checkpoint)
	}
}

func TestCommit_RecordsTheProgressOfTheRun(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 6, time.FixedZone("x", 3600))
	cfg := stored()
	cfg.Now, cfg.NewID = func() time.Time { return now }, func() string { return "run-1" }
	b := graph.New[world]("record")
	b.Node("a", goes("a", graph.Goto("c", "d").Send("w", 5), "c", "d", "w"))
	b.Node("c", logs("c"))
	b.Node("d", logs("d"))
	b.Node("w", graph.Worker(takesInt))
	b.Edge(graph.Start, "a")
	b.Join("d", "c", "w")
	b.Edge("d", graph.End)
	b.Defer("d")
	g := build(t, b, cfg)
	res, err := g.Invoke(ctx, world{}, graph.RunOptions{Thread: "t1", Metadata: map[string]string{"who": "ann"}})
	ended(t, graph.Done, res, err)
	want := []string{
		`1 input step 0 ran [] next [a] waiting [] joins []`,
		`2 step step 1 ran [a] next [c w:5] waiting [d] joins []`,
		`3 step step 2 ran [c w] next [d] waiting [] joins []`,
		`4 step step 3 ran [d] next [] waiting [] joins []`,
	}
	for i, w := range want {
		snap, err := cfg.Store.Load(ctx, checkpoint.Key{Thread: "t1"}, uint64(i+1))
		if err != nil {
			t.Fatal(err)
		}
		rec, err := checkpoint.ReadRecord(snap)
		if err != nil {
			t.Fatal(err)
		}
		if got := recordText(snap.Seq, rec); got != w {
			t.Errorf("commit %d is\n%s\nwant\n%s", i+1, got, w)
		}
		if rec.Graph != "record" || rec.Run != "run-1" || !rec.Time.Equal(now) || rec.Turn != 1 || rec.Metadata["who"] != "ann" || rec.Program == "" || rec.Input == "" {
			t.Errorf("commit %d is %+v", i+1, rec)
		}
	}
}

func recordText(seq uint64, rec *checkpoint.Record) string {
	var next, joins []string
	for _, n := range rec.Next {
		if next = append(next, n.Node); n.Send {
			next[len(next)-1] += ":" + string(n.Payload)
		}
	}
	for _, j := range rec.Joins {
		joins = append(joins, fmt.Sprint(j.Target, j.Arrived, "of", j.Sources))
	}
	return fmt.Sprintf("%d %s step %d ran %v next %v waiting %v joins %v", seq, rec.Source, rec.Step, graph.CommitInfo{Source: rec.Source, Ran: rec.Ran}.Nodes(), next, rec.Waiting, joins)
}

// Requirement: One run owns a thread
func TestRuns_TwoOnOneThreadDoNotForkIt(t *testing.T) {
	cfg := stored()
	first, goOn := make(chan struct{}), make(chan struct{})
	b := graph.New[world]("race")
	b.Node("a", graph.Func(func(_ context.Context, s *world) error {
		s.Log.Append(s.Name.Get())
		if s.Name.Get() == "loser" { // it waits here while the other one runs
			close(first)
			<-goOn
		}
		return nil
	}))
	line(b, "b")
	b.Edge(graph.Start, "a")
	b.Edge("a", graph.End)
	g := build(t, b, cfg)
	lost := make(chan error)
	go func() {
		_, err := g.Invoke(ctx, world{Name: state.Of("loser")}, unleased)
		lost <- err
	}()
	<-first
	res, err := g.Invoke(ctx, world{Name: state.Of("winner")}, unleased)
	logged(t, ended(t, graph.Done, res, err), "winner b")
	close(goOn)
	is(t, <-lost, checkpoint.ErrConflict, "t1")
	s, p, err := g.Thread("t1").State(ctx, 0)
	if err != nil || strings.Join(s.Log.Slice(), " ") != "winner b" || p.Checkpoint != res.Checkpoint {
		t.Errorf("the thread holds %v at commit %d, %v", s.Log.Slice(), p.Checkpoint, err)
	}
}

// unleased are runs that only compare-and-set keeps apart.
var unleased = graph.RunOptions{Thread: "t1", Lease: checkpoint.HoldOptions{Policy: checkpoint.NoLease}}

func TestRuns_ManyResumeOneThreadAndOneWins(t *testing.T) {
	for range 20 {
		var ran counter
		cfg := stored()
		g := build(t, parallel(map[string]graph.Node[world]{"a": asks("a", &ran, "x"), "b": asks("b", &ran, "y")}), cfg)
		res := invoke(t, g, "t1", graph.Interrupted)
		a := graph.Answer(idOf(t, res, "x"), "1").Answer(idOf(t, res, "y"), "2")
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				if res, err := g.Resume(ctx, a, unleased); err != nil && !errors.Is(err, checkpoint.ErrConflict) {
					t.Errorf("got %q, %v; want done or a conflict", res.Status, err)
				}
			})
		}
		wg.Wait()
		logged(t, resume(t, g, graph.Answers{}, graph.Done), "a x=1 b y=2")
	}
}

// Requirement: New input, new turn
func TestTurnFields_AreResetByAnInputOnly(t *testing.T) {
	var ran counter
	cfg := stored()
	b := graph.New[world]("turns")
	b.Node("a", graph.Func(func(ctx context.Context, s *world) error {
		s.Draft.Append("a")
		s.Tries.Add(1)
		s.Log.Append("a")
		return nil
	}))
	b.Node("b", asks("b", &ran, "x"))
	b.Node("c", graph.Func(func(_ context.Context, s *world) error {
		s.Draft.Append("c")
		return nil
	}))
	b.Edge(graph.Start, "a")
	b.Edge("a", "b")
	b.Edge("b", "c")
	b.Edge("c", graph.End)
	g := build(t, b, cfg)
	for turn := 1; turn <= 3; turn++ {
		res, err := g.Invoke(ctx, world{Draft: state.ListOf("in")}, t1)
		ended(t, graph.Interrupted, res, err)
		res = resume(t, build(t, b, cfg), graph.Reply("!"), graph.Done)
		if got := res.State.Draft.Slice(); !slices.Equal(got, []string{"in", "a", "c"}) || res.State.Tries.Get() != 8 {
			t.Errorf("turn %d ends with the draft %v and %d tries, want [in a c] and 8", turn, got, res.State.Tries.Get())
		}
		if got, want := res.State.Log.Len(), 3*turn; got != want {
			t.Errorf("turn %d ends with %d lines, want %d: a field without weft:\"turn\" belongs to the thread", turn, got, want)
		}
	}
}

func TestFields_MayBeAddedAndRemovedBetweenVersions(t *testing.T) {
	type old struct {
		Log  state.List[string]  `json:"log"`
		Gone state.Value[string] `json:"gone"`
	}
	type young struct {
		Log state.List[string] `json:"log"`
		New state.Sum[int]     `json:"new" weft:"default=40"`
	}
	cfg := stored()
	o := graph.New[old]("versions")
	o.Node("a", graph.Func(func(_ context.Context, s *old) error { s.Log.Append("old"); s.Gone.Set("stays"); return nil }))
	o.Edge(graph.Start, "a")
	o.Edge("a", graph.End)
	y := graph.New[young]("versions")
	y.Node("a", graph.Func(func(_ context.Context, s *young) error { s.Log.Append("young"); s.New.Add(2); return nil }))
	y.Edge(graph.Start, "a")
	y.Edge("a", graph.End)
	if _, err := build(t, o, cfg).Invoke(ctx, old{}, t1); err != nil {
		t.Fatal(err)
	}
	res, err := build(t, y, cfg).Invoke(ctx, young{}, t1)
	if err != nil || res.State.Log.Len() != 2 || res.State.New.Get() != 42 {
		t.Errorf("got %v, %d, %v; want [old young] and the new field's default plus 2", res.State.Log.Slice(), res.State.New.Get(), err)
	}
	back, err := build(t, o, cfg).Invoke(ctx, old{}, t1)
	if err != nil || back.State.Gone.Get() != "stays" || back.State.Log.Len() != 3 {
		t.Errorf("got %q, %v, %v; want the field that the other version did not know", back.State.Gone.Get(), back.State.Log.Slice(), err)
	}
}

// failing is a graph that stops with a, z, a Send to w, and a half-full join pending.
func failing() *graph.Builder[world] {
	fails := func(context.Context, *world) error { return errBoom }
	b := graph.New[world]("failing")
	b.Node("r", goes("r", graph.Goto("a", "zz").Send("zw", 1), "a", "zz", "zw"))
	b.Node("a", graph.Func(fails))
	b.Node("zz", graph.Func(fails))
	b.Node("zw", graph.Worker(func(context.Context, *world, int) error { return errBoom }))
	b.Node("late", logs("late"))
	b.Edge(graph.Start, "r")
	b.Join("late", "r", "zz")
	for _, name := range []string{"a", "zw", "late"} {
		b.Edge(name, graph.End)
	}
	return b
}

func TestProgram_AnotherMustHaveThePendingNodes(t *testing.T) {
	cfg := stored()
	if _, err := build(t, failing(), cfg).Invoke(ctx, world{}, t1); !errors.Is(err, errBoom) {
		t.Fatal(err)
	}
	before := dump(cfg.Store, "t1", "")
	gone := graph.New[world]("failing")
	line(gone, "a")
	_, err := build(t, gone, cfg).Resume(ctx, graph.Answers{}, t1)
	is(t, err, graph.ErrProgram, `"zz"`, `"zw"`, `"late"`)
	if strings.Contains(err.Error(), `node "a"`) {
		t.Errorf("%v names a node that is there", err)
	}
	swapped := graph.New[world]("failing") // a is a Worker now, and zw is none
	swapped.Node("r", goes("r", graph.Command{}, "a"))
	swapped.Node("a", graph.Worker(takesInt))
	swapped.Edge(graph.Start, "r")
	swapped.Edge("a", graph.End)
	line(swapped, "late", "zw", "zz")
	_, err = build(t, swapped, cfg).Resume(ctx, graph.Answers{}, t1)
	is(t, err, graph.ErrProgram, `"a"`, `"zw"`)
	if dump(cfg.Store, "t1", "") != before {
		t.Error("a refused resume changed the thread")
	}
}

// What finished early is stored while others run; if that cannot be done, the run fails.
func TestStore_FailedWriteInAStepFailsTheRun(t *testing.T) {
	var ran counter
	var resumed atomic.Bool
	store := &faultStore{Store: new(checkpoint.Memory), at: 2}
	b := parallel(map[string]graph.Node[world]{
		"quick": asks("quick", &ran),
		"slow": graph.Func(func(ctx context.Context, s *world) error {
			s.Log.Append("slow")
			if !resumed.Load() {
				<-ctx.Done() // until the failed write stops it
			}
			return ctx.Err()
		}),
	})
	g := build(t, b, graph.Config{Store: store})
	_, err := g.Invoke(ctx, world{}, t1)
	is(t, err, errFault)
	resumed.Store(true)
	logged(t, resume(t, g, graph.Answers{}, graph.Done), "quick slow")
}

func TestExpire_WholeThreadAfterItsLastCommit(t *testing.T) {
	var ran counter
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	store := &checkpoint.Memory{Now: func() time.Time { return now }}
	b := graph.New[world]("outer")
	b.Node("in", hosts(child(t, &ran, graph.Config{}, nil), "", nil))
	b.Edge(graph.Start, "in")
	b.Edge("in", graph.End)
	g := build(t, b, graph.Config{Store: store, TTL: time.Hour})
	for range 3 {
		invoke(t, g, "t1", graph.Done)
		now = now.Add(50 * time.Minute) // each commit begins the hour anew
	}
	if s, _, err := g.Thread("t1").State(ctx, 0); err != nil || s.Log.Len() != 9 {
		t.Errorf("the thread holds %v, %v", s.Log.Slice(), err)
	}
	now = now.Add(10 * time.Minute)
	if _, err := graph.Inspect(ctx, store, checkpoint.Key{Thread: "t1"}); !errors.Is(err, graph.ErrUnknownThread) {
		t.Errorf("an expired thread gives %v", err)
	}
	if spaces, err := store.Namespaces(ctx, "t1"); len(spaces) != 0 || err != nil {
		t.Errorf("of the expired thread are left %q, %v", spaces, err)
	}
	logged(t, invoke(t, g, "t1", graph.Done), "c1 c2 c3") // it begins anew
	_, err := b.Compile(graph.Config{TTL: time.Hour})
	if err == nil || !strings.Contains(err.Error(), "expire after 1h0m0s") {
		t.Errorf("a TTL without a store that can expire gives %v", err)
	}
}
