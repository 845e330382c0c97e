package graph_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
)

// outside drives runs of a graph from outside. It makes each call on a newly compiled graph, as in
// another process. If twice is set, it repeats the call on another one, and the answer must be the
// same.
type outside struct {
	tb    testing.TB
	open  func() graph.Untyped
	twice bool
}

// drives returns an outside for the graphs that declare returns, with the store of cfg.
func drives(tb testing.TB, cfg graph.Config, declare func() *graph.Builder[world]) *outside {
	return &outside{tb: tb, twice: true, open: func() graph.Untyped { return build(tb, declare(), cfg).Untyped() }}
}

func made[A any](d *outside, call func(graph.Untyped) (A, error)) (A, error) {
	d.tb.Helper()
	got, err := call(d.open())
	if d.twice {
		second, err2 := call(d.open())
		if a, b := fmt.Sprintf("%+v, %v", got, err), fmt.Sprintf("%+v, %v", second, err2); a != b {
			d.tb.Errorf("rule: a call that is made again gives the same answer\n got: %s\nwant: %s", b, a)
		}
	}
	return got, err
}

func (d *outside) plan(q graph.PlanRequest) (graph.Plan, error) {
	d.tb.Helper()
	q.Thread = "t1"
	return made(d, func(g graph.Untyped) (graph.Plan, error) { return g.Plan(ctx, q) })
}

func (d *outside) run(p graph.Plan, task string) (graph.TaskResult, error) {
	d.tb.Helper()
	return made(d, func(g graph.Untyped) (graph.TaskResult, error) {
		return g.RunTask(ctx, graph.TaskRequest{Step: p.ID, Task: task})
	})
}

func (d *outside) commit(p graph.Plan) (graph.Plan, error) {
	d.tb.Helper()
	return made(d, func(g graph.Untyped) (graph.Plan, error) { return g.Commit(ctx, graph.CommitRequest{Step: p.ID}) })
}

// drive makes the calls of a run to its end, and releases the lease.
func (d *outside) drive(q graph.PlanRequest) (graph.Plan, error) {
	d.tb.Helper()
	p, err := d.plan(q)
	for err == nil && p.Status == graph.Pending {
		for _, t := range p.Due() {
			if _, err := d.run(p, t.ID); err != nil {
				d.tb.Fatalf("node %s: %v", t.Node, err)
			}
		}
		p, err = d.commit(p)
	}
	d.release(p)
	return p, err
}

func (d *outside) release(p graph.Plan) {
	d.tb.Helper()
	if err := d.open().Release(ctx, p.ID); err != nil {
		d.tb.Errorf("Release: %v", err)
	}
}

// at fails the test unless the plan has this status and these tasks.
func (d *outside) at(p graph.Plan, err error, status graph.Status, tasks string) graph.Plan {
	d.tb.Helper()
	if err != nil || p.Status != status || tasksOf(p) != tasks {
		d.tb.Fatalf("got the status %q, the tasks %q and the error %v; want %q and %q", p.Status, tasksOf(p), err, status, tasks)
	}
	return p
}

// log fails the test unless the thread's log holds these words.
func (d *outside) log(want string) {
	d.tb.Helper()
	data, _, err := d.open().Thread("t1").State(ctx, 0)
	var s world
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	if got := strings.Join(s.Log.Slice(), " "); err != nil || got != want {
		d.tb.Errorf("the log is %q, want %q (%v)", got, want, err)
	}
}

// tasksOf returns the nodes of a plan's tasks, each with how it ended.
func tasksOf(p graph.Plan) string {
	var all []string
	for _, t := range p.Tasks {
		all = append(all, strings.TrimSuffix(t.Node+" "+string(t.End), " "))
	}
	return strings.Join(all, ", ")
}

// taskOf returns the id of the task of a node.
func taskOf(p graph.Plan, node string) string {
	for _, t := range p.Tasks {
		if t.Node == node {
			return t.ID
		}
	}
	return ""
}

var (
	noInput = json.RawMessage(`{}`)
	run1    = graph.PlanRequest{Run: "run-1", Input: noInput}
)

func inLine(names ...string) func() *graph.Builder[world] {
	return func() *graph.Builder[world] {
		b := graph.New[world]("line")
		line(b, names...)
		return b
	}
}

// inOneStep declares nodes that run in one step, and then end.
func inOneStep(nodes map[string]graph.Node[world]) func() *graph.Builder[world] {
	return func() *graph.Builder[world] {
		b := graph.New[world]("beside")
		for name, n := range nodes {
			b.Node(name, n)
			b.Edge(graph.Start, name)
			b.Edge(name, graph.End)
		}
		return b
	}
}

func questions(name string, ran *counter) graph.Node[world] {
	return graph.Func(func(ctx context.Context, s *world) error {
		ran.add(name)
		ok, err := graph.Ask[bool](ctx, graph.Question{Prompt: name + "?"})
		if err == nil {
			s.Log.Append(fmt.Sprint(name, "=", ok))
		}
		return err
	})
}

func turnsOf(tb testing.TB, s checkpoint.Store) int {
	tb.Helper()
	p, err := graph.Inspect(ctx, s, checkpoint.Key{Thread: "t1"})
	if err != nil {
		tb.Fatal(err)
	}
	return p.Turn
}

// Requirement: driver: an overtaken run writes nothing
// Requirement: Plan takes an input once
func TestPlan_InputIsTakenOnce(t *testing.T) {
	cfg := stored()
	d := drives(t, cfg, inLine("a", "b"))
	zero := uint64(0)
	q := graph.PlanRequest{Run: "run-1", Input: json.RawMessage(`{"name":"x"}`), If: &zero}
	p, err := d.plan(q)
	d.at(p, err, graph.Pending, "a")
	if _, err := d.run(p, taskOf(p, "a")); err != nil {
		t.Fatal(err)
	}
	p, err = d.plan(q)
	d.at(p, err, graph.Pending, "a finished")
	p, err = d.commit(p)
	d.at(p, err, graph.Pending, "b")
	p, err = d.plan(q) // long after
	d.at(p, err, graph.Pending, "b")
	if p.Steps != 1 || p.ID.First != 0 {
		t.Errorf("the run has made %d steps from %d on, want 1 from 0 on", p.Steps, p.ID.First)
	}
	if _, err := d.plan(graph.PlanRequest{Run: "run-1", Input: json.RawMessage(`{"name":"y"}`)}); !errors.Is(err, graph.ErrRun) {
		t.Errorf("another input in the same run\n got: %v\nwant: %v", err, graph.ErrRun)
	}
	p, err = d.drive(q)
	d.at(p, err, graph.Done, "")
	if n := turnsOf(t, cfg.Store); n != 1 {
		t.Errorf("the thread has %d turns, want 1", n)
	}
	d.log("a b")
	if _, err := d.plan(q); !errors.Is(err, checkpoint.ErrFenced) {
		t.Errorf("a Plan after Release\n got: %v\nwant: %v", err, checkpoint.ErrFenced)
	}
	p, err = d.drive(graph.PlanRequest{Run: "run-2", Input: noInput})
	d.at(p, err, graph.Done, "")
	if n := turnsOf(t, cfg.Store); n != 2 {
		t.Errorf("the thread has %d turns after another run, want 2", n)
	}
}

// Requirement: Plan takes an input once
func TestPlan_OlderCommitBeginsOneBranch(t *testing.T) {
	cfg := stored()
	d := drives(t, cfg, inLine("a", "b"))
	p, err := d.drive(run1)
	d.at(p, err, graph.Done, "")
	p, err = d.plan(graph.PlanRequest{Run: "run-2", At: 2})
	d.at(p, err, graph.Pending, "b")
	p, err = d.drive(graph.PlanRequest{Run: "run-2", At: 2})
	d.at(p, err, graph.Done, "")
	if p.ID.Checkpoint != 5 || p.Steps != 1 {
		t.Errorf("the branch ends at commit %d after %d steps, want 5 after 1", p.ID.Checkpoint, p.Steps)
	}
	d.log("a b")
}

// Requirement: Plan takes answers once
func TestPlan_AnswersOneByOne(t *testing.T) {
	var ran counter
	cfg := stored()
	d := drives(t, cfg, inOneStep(map[string]graph.Node[world]{"a": questions("a", &ran), "b": questions("b", &ran), "c": logs("c")}))
	p, err := d.drive(run1)
	d.at(p, err, graph.Interrupted, "a asked, b asked, c finished")
	open := p.Interrupts
	if len(open) != 2 {
		t.Fatalf("%d questions are open, want 2", len(open))
	}
	p, err = d.plan(graph.PlanRequest{Run: "run-2", Answers: graph.Reply(true)})
	is(t, err, graph.ErrAmbiguous)
	d.release(p)
	p, err = d.plan(graph.PlanRequest{Run: "run-3", Input: noInput})
	is(t, err, graph.ErrWaiting)
	if len(p.Interrupts) != 2 {
		t.Errorf("beside the error %d questions are listed, want 2", len(p.Interrupts))
	}
	d.release(p)
	q := graph.PlanRequest{Run: "run-4", Answers: graph.Answer(open[1].ID, false).By("ann")}
	p, err = d.plan(q)
	d.at(p, err, graph.Pending, "a asked, b, c finished")
	p, err = d.drive(q)
	d.at(p, err, graph.Interrupted, "a asked, b finished, c finished")
	ran.want(t, "a", 1)
	ran.want(t, "b", 2)
	p, err = d.drive(graph.PlanRequest{Run: "run-5", Answers: graph.Reply(true)})
	d.at(p, err, graph.Done, "")
	d.log("a=true b=false c")
	decided := 0
	for dec, err := range d.open().Thread("t1").Decisions(ctx) {
		if err != nil || dec.Type == graph.DecisionReject && dec.By != "ann" {
			t.Errorf("a decision %+v, %v", dec, err)
		}
		decided++
	}
	if decided != 2 {
		t.Errorf("%d decisions are recorded, want 2", decided)
	}
}

// An answer without an id that comes late must not close the next question.
//
// Requirement: Plan takes answers once
func TestPlan_LateReplyClosesNoOtherQuestion(t *testing.T) {
	var ran counter
	d := drives(t, stored(), func() *graph.Builder[world] {
		b := graph.New[world]("line")
		b.Node("a", questions("a", &ran))
		b.Node("b", questions("b", &ran))
		b.Edge(graph.Start, "a")
		b.Edge("a", "b")
		b.Edge("b", graph.End)
		return b
	})
	p, err := d.plan(run1)
	for _, node := range []string{"a", "b"} {
		d.at(p, err, graph.Pending, node)
		if _, err := d.run(p, taskOf(p, node)); err != nil {
			t.Fatal(err)
		}
		p, err = d.commit(p)
		d.at(p, err, graph.Interrupted, node+" asked")
		if node == "a" { // the run may also go on with an answer
			p, err = d.plan(graph.PlanRequest{Run: "run-1", Answers: graph.Reply(true)})
			d.at(p, err, graph.Pending, "a")
			if _, err := d.run(p, p.Tasks[0].ID); err != nil {
				t.Fatal(err)
			}
			p, err = d.commit(p)
		}
	}
	_, err = d.plan(graph.PlanRequest{Run: "run-1", Answers: graph.Reply(true)})
	is(t, err, graph.ErrAmbiguous)
	d.log("a=true")
}

// Requirement: Plan takes an input once
func TestPlan_QueuedInputWaitsOnce(t *testing.T) {
	var ran counter
	cfg := stored()
	d := drives(t, cfg, inOneStep(map[string]graph.Node[world]{"a": questions("a", &ran)}))
	p, err := d.drive(run1)
	d.at(p, err, graph.Interrupted, "a asked")
	queued, err := d.plan(graph.PlanRequest{Run: "run-2", Input: noInput, OnOpenQuestions: graph.Queue})
	d.at(queued, err, graph.Queued, "")
	d.release(queued)
	p, err = d.plan(graph.PlanRequest{Run: "run-3", Answers: graph.Reply(true)})
	d.at(p, err, graph.Pending, "a")
	if _, err := d.run(p, p.Tasks[0].ID); err != nil {
		t.Fatal(err)
	}
	p, err = d.commit(p) // and the input gets its turn
	d.at(p, err, graph.Pending, "a")
	if p.Turn != 2 {
		t.Errorf("the plan is of turn %d, want 2", p.Turn)
	}
	d.release(p)
	p, err = d.drive(graph.PlanRequest{Run: "run-4"})
	d.at(p, err, graph.Interrupted, "a asked")
	p, err = d.drive(graph.PlanRequest{Run: "run-5", Answers: graph.Reply(false)})
	d.at(p, err, graph.Done, "")
	if n := turnsOf(t, cfg.Store); n != 2 {
		t.Errorf("the thread has %d turns, want 2", n)
	}
	d.log("a=true a=false")
}

// A Plan whose input waits behind an older one begins the turn of the older one. Repeated after a
// lost reply, it returns the same plan.
func TestPlan_BeginsAnOlderInputOnce(t *testing.T) {
	var ran counter
	cfg := stored()
	declare := inOneStep(map[string]graph.Node[world]{"a": questions("a", &ran)})
	d := drives(t, cfg, declare)
	p, err := d.drive(run1)
	d.at(p, err, graph.Interrupted, "a asked")
	older := graph.PlanRequest{Run: "run-2", Input: json.RawMessage(`{"name":"older"}`), OnOpenQuestions: graph.Queue}
	p, err = d.plan(older)
	d.at(p, err, graph.Queued, "")
	d.release(p)
	end := graph.Edit[world]{As: graph.End, Do: func(*world) (graph.Command, error) { return graph.Command{}, nil }}
	if _, err := build(t, declare(), cfg).Edit(ctx, [][]graph.Edit[world]{{end}}, graph.RunOptions{Thread: "t1"}); err != nil {
		t.Fatal(err)
	}
	newer := graph.PlanRequest{Run: "run-3", Input: json.RawMessage(`{"name":"newer"}`), OnOpenQuestions: graph.Queue}
	p, err = d.plan(newer)
	if d.at(p, err, graph.Pending, "a"); p.Turn != 2 {
		t.Errorf("the plan is of turn %d, want 2", p.Turn)
	}
	newer.Input = noInput
	_, err = d.plan(newer)
	is(t, err, graph.ErrRun, "queued another input")
	d.release(p)
	p, err = d.drive(graph.PlanRequest{Run: "run-4"})
	d.at(p, err, graph.Interrupted, "a asked")
	p, err = d.drive(graph.PlanRequest{Run: "run-5", Answers: graph.Reply(true)})
	d.at(p, err, graph.Interrupted, "a asked") // in the turn of the newer input
	if n := turnsOf(t, cfg.Store); n != 3 {
		t.Errorf("the thread has %d turns, want 3", n)
	}
}

// Requirement: Plan by another program
func TestPlan_AnotherProgram(t *testing.T) {
	cfg := stored()
	old := drives(t, cfg, inLine("a", "b"))
	p, err := old.plan(run1)
	old.at(p, err, graph.Pending, "a")
	now := drives(t, cfg, inLine("a", "b", "c"))
	_, err = now.run(p, p.Tasks[0].ID)
	is(t, err, graph.ErrProgram, "plan it again")
	_, err = now.commit(p)
	is(t, err, graph.ErrProgram)
	p, err = now.plan(run1)
	now.at(p, err, graph.Pending, "a")
	other := drives(t, cfg, inLine("x"))
	_, err = other.plan(run1)
	is(t, err, graph.ErrProgram, `"a"`)
	p, err = now.drive(run1)
	now.at(p, err, graph.Done, "")
	now.log("a b c")
}

func TestPlan_MustHaveARunAndAStore(t *testing.T) {
	d := drives(t, stored(), inLine("a"))
	for _, run := range []string{"", "a b", strings.Repeat("x", 41), "é"} {
		if _, err := d.plan(graph.PlanRequest{Run: run, Input: noInput}); !errors.Is(err, graph.ErrRun) {
			t.Errorf("the run id %q\n got: %v\nwant: %v", run, err, graph.ErrRun)
		}
	}
	_, err := d.plan(graph.PlanRequest{Run: "run-1"})
	is(t, err, graph.ErrUnknownThread)
	_, err = d.plan(graph.PlanRequest{Run: "run-1", Input: json.RawMessage(`{"nme":"x"}`)})
	if err == nil || !strings.Contains(err.Error(), "nme") {
		t.Errorf("an input with an unknown field\n got: %v", err)
	}
	storeless := drives(t, graph.Config{}, inLine("a"))
	_, err = storeless.plan(run1)
	is(t, err, graph.ErrNoStore)
	var none *graph.Graph[world] = new(graph.Graph[world])
	_, err = none.Untyped().Plan(ctx, run1)
	is(t, err, graph.ErrNotCompiled)
}

// Drivers may choose one run id for several threads.
func TestPlan_LeasesOfTwoThreadsDiffer(t *testing.T) {
	g := drives(t, stored(), inLine("a")).open()
	fences := map[string]bool{}
	for _, thread := range []string{"t1", "t2"} {
		q := run1
		q.Thread = thread
		for range 2 {
			p, err := g.Plan(ctx, q)
			if err != nil {
				t.Fatal(err)
			}
			fences[p.ID.Fence] = true
		}
	}
	if len(fences) != 2 {
		t.Errorf("a run id on two threads, each planned twice\n got: the fences %v\nwant: one a thread", fences)
	}
}

// Requirement: Plan checks limits and static interrupts
func TestPlan_LimitsHold(t *testing.T) {
	cfg := stored()
	cfg.MaxSteps, cfg.MaxState = 2, 400
	d := drives(t, cfg, inLine("a", "b", "c"))
	p, err := d.drive(run1)
	is(t, err, graph.ErrSteps, "2 steps")
	if p.Status != graph.Failed {
		t.Errorf("the status is %q, want failed", p.Status)
	}
	d.log("a b")
	p, err = d.drive(graph.PlanRequest{Run: "run-2"})
	d.at(p, err, graph.Done, "")
	p, err = d.drive(graph.PlanRequest{Run: "run-3", Input: noInput, MaxSteps: 1})
	is(t, err, graph.ErrSteps, "1 steps")
	d.release(p)
	cfg = stored()
	cfg.MaxTasks = 1
	d = drives(t, cfg, inOneStep(map[string]graph.Node[world]{"a": logs("a"), "b": logs("b")}))
	_, err = d.drive(run1)
	is(t, err, graph.ErrFanOut)
}

func TestAnswers_AsJSON(t *testing.T) {
	a := graph.Answer("q1", map[string]int{"n": 1}).By("ann").Decline("q2", "").Answer("", nil)
	data, err := json.Marshal(a)
	const want = `[{"id":"q1","value":{"n":1},"by":"ann"},{"id":"q2","declined":""},{"value":null}]`
	if err != nil || string(data) != want {
		t.Errorf("got %s, %v\nwant %s", data, err, want)
	}
	var back graph.Answers
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	if data, err := json.Marshal(back); err != nil || string(data) != want {
		t.Errorf("there and back\n got: %s, %v\nwant: %s", data, err, want)
	}
	if err := json.Unmarshal([]byte(`{"id":1}`), &back); !errors.Is(err, graph.ErrAnswer) {
		t.Errorf("no list\n got: %v\nwant: %v", err, graph.ErrAnswer)
	}
}

// Requirement: Plan takes an input once
func TestPlan_RunsAtOnceTakeOneInput(t *testing.T) {
	cfg := stored()
	d := drives(t, cfg, inLine("a"))
	var wait sync.WaitGroup
	plans := make([]graph.Plan, 8)
	for i := range plans {
		g := d.open()
		wait.Go(func() {
			q := run1
			q.Thread = "t1"
			p, err := g.Plan(ctx, q)
			if err != nil && !errors.Is(err, checkpoint.ErrConflict) {
				t.Errorf("Plan: %v", err)
			}
			plans[i] = p
		})
	}
	wait.Wait()
	first, err := d.plan(run1)
	d.at(first, err, graph.Pending, "a")
	for _, p := range plans {
		if p.Status == graph.Pending && !reflect.DeepEqual(p, first) {
			t.Errorf("one Plan of several at once\n got: %+v\nwant: %+v", p, first)
		}
	}
	if n := turnsOf(t, cfg.Store); n != 1 || first.ID.Checkpoint != 1 {
		t.Errorf("the thread has %d turns and %d commits, want one of each", n, first.ID.Checkpoint)
	}
}

// A driven run has the static interrupts, the settings and the metadata that its calls pass.
func TestDriver_StepOptions(t *testing.T) {
	cfg := stored()
	b := graph.New[world]("options")
	marks := func(name string) graph.Node[world] {
		return graph.Func(func(ctx context.Context, s *world) error {
			s.Log.Append(fmt.Sprint(name, graph.Settings(ctx)))
			return nil
		})
	}
	b.Node("a", marks("a"))
	b.Node("b", marks("b"))
	b.Edge(graph.Start, "a")
	b.Edge("a", "b")
	b.Edge("b", graph.End)
	g := build(t, b, cfg).Untyped()
	drive := func(q graph.PlanRequest) graph.Plan {
		t.Helper()
		q.Thread = "t1"
		p, err := g.Plan(ctx, q)
		for err == nil && p.Status == graph.Pending {
			for _, task := range p.Due() {
				if _, err := g.RunTask(ctx, graph.TaskRequest{Step: p.ID, Task: task.ID, Options: q.Options}); err != nil {
					t.Fatal(err)
				}
			}
			p, err = g.Commit(ctx, graph.CommitRequest{Step: p.ID, Options: q.Options})
		}
		if err := errors.Join(err, g.Release(ctx, p.ID)); err != nil {
			t.Fatal(err)
		}
		return p
	}
	options := func(n int) graph.StepOptions {
		return graph.StepOptions{Settings: n, InterruptBefore: []string{"b"}, Metadata: map[string]string{"n": fmt.Sprint(n)}}
	}
	p := drive(graph.PlanRequest{Run: "run-1", Input: noInput, Options: options(1)})
	if p.Status != graph.Interrupted || len(p.Interrupts) != 1 || p.Interrupts[0].Node != "b" {
		t.Fatalf("the plan is %+v, want a pause before b", p)
	}
	if p = drive(graph.PlanRequest{Run: "run-2", Options: options(2)}); p.Status != graph.Done {
		t.Fatalf("the plan is %+v, want done", p)
	}
	state, at, err := g.Thread("t1").State(ctx, 0)
	if err != nil || !strings.Contains(string(state), `["a1","b2"]`) || at.Metadata["n"] != "2" {
		t.Errorf("the state is %s with the metadata %v and the error %v, want a1 and b2, and 2", state, at.Metadata, err)
	}
}

// The Plan beside an error has the fence of the lease that the run asked for.
func TestDriver_FailedPlanHasItsFence(t *testing.T) {
	g := build(t, inLine("a")(), stored()).Untyped()
	for name, q := range map[string]graph.PlanRequest{
		"no thread yet":     {},
		"no such node":      {Input: noInput, Options: graph.StepOptions{InterruptAfter: []string{"unknown"}}},
		"a malformed input": {Input: json.RawMessage(`{"nme":1}`)},
	} {
		q.Thread, q.Run = "t1", "run-1"
		p, err := g.Plan(ctx, q)
		if want := graph.LeaseID("t1", "run-1"); err == nil || p.ID.Fence != want || p.Status != graph.Failed {
			t.Errorf("%s: the plan is %+v with the error %v, want the status failed and the fence %s", name, p, err, want)
		}
		if err := g.Release(ctx, p.ID); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
