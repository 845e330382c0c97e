package budget_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/weftrun/weft/capabilities/budget"
	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/storetest"
	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/state/message"
)

type log struct {
	Log state.List[string] `json:"log"`
}

// process is how a process sees its store. Each of its writes may be its last one.
type process interface {
	Store(checkpoint.Store) checkpoint.Store
	Documents(document.Store) document.Store
}

// spender is a process: a graph whose two nodes make three calls, under a limit of two that a
// person raises by one.
func spender(t *testing.T, s storage, name string, p *provider, l process) (*graph.Graph[log], *budget.Limiter) {
	limits := limiter(t, l.Documents(s.docs), budget.Config{Name: name, Currency: "EUR",
		Prices: budget.Prices{"m": {Input: 1 * budget.Unit, Output: 2 * budget.Unit}},
		Limits: []budget.Limit{
			{Name: "calls", By: budget.ByThread, Most: budget.Amount{Calls: 2}, Raise: budget.Amount{Calls: 1}},
			{Name: "one", By: budget.ByModel, Concurrency: 1},
		}})
	m := limits.Model("m", p)
	b := graph.New[log]("spends")
	b.Node("a", graph.Func(func(ctx context.Context, s *log) error {
		for range 2 {
			if _, err := graph.Call(ctx, "ask", func(ctx context.Context) (bool, error) { return true, ask(ctx, m) }); err != nil {
				return err
			}
		}
		s.Log.Append("a")
		return nil
	}))
	b.Node("b", graph.Func(func(ctx context.Context, s *log) error {
		if err := ask(ctx, m); err != nil {
			return err
		}
		s.Log.Append("b")
		return nil
	}))
	b.Edge(graph.Start, "a")
	b.Edge("a", "b")
	b.Edge("b", graph.End)
	g, err := b.Compile(graph.Config{Store: l.Store(s.Store)})
	if err != nil {
		t.Fatal(err)
	}
	return g, limits
}

// finish runs the thread until it is done or the process dies. It calls answers with the id of each
// question that it is about to answer.
func finish(t *testing.T, s storage, g *graph.Graph[log], thread string, answers func(id string)) error {
	run := graph.RunOptions{Thread: thread, Lease: checkpoint.HoldOptions{Policy: checkpoint.NoLease}}
	for range 20 {
		info, err := graph.Inspect(t.Context(), s.Store, checkpoint.Key{Thread: thread})
		var res graph.Result[log]
		switch {
		case errors.Is(err, graph.ErrUnknownThread):
			res, err = g.Invoke(t.Context(), log{}, run)
		case err != nil:
		case info.Status == graph.Done:
			return nil
		case len(info.Interrupts) > 0:
			id := info.Interrupts[0].ID
			answers(id)
			res, err = g.Resume(t.Context(), graph.Answer(id, true), run)
		default:
			res, err = g.Resume(t.Context(), graph.Answers{}, run)
		}
		if err != nil {
			return err
		}
		if res.Status == graph.Done {
			return nil
		}
	}
	return errors.New("the thread does not end")
}

// A process dies at each of its writes, before and after it is done, on each store. Another process
// ends the thread, and all calls that were made are counted.
func TestModel_SurvivesDeathAtEachWrite(t *testing.T) {
	onAllStores(t, func(t *testing.T, s storage) {
		for n := 1; ; n++ {
			whole := false
			for _, done := range []bool{false, true} {
				whole = diesAt(t, s, n, done)
			}
			if whole {
				if n < 12 {
					t.Errorf("the process made only %d writes", n-1)
				}
				return
			}
		}
	})
}

// diesAt lets a process die at its write n. It returns true if the process makes fewer.
func diesAt(t *testing.T, s storage, n int, done bool) (whole bool) {
	name := fmt.Sprintf("death at write %d, done %t", n, done)
	p := &provider{usage: message.Usage{Input: 10, Output: 5}}
	answered := map[string]bool{}
	first := &storetest.Life{Left: n, Done: done}
	g, _ := spender(t, s, name, p, first)
	if err := finish(t, s, g, name, func(id string) { answered[id] = true }); err == nil && first.Ended() {
		t.Logf("%s: the first process ended the thread all the same", name)
	}
	endsAndCounts(t, s, name, p, answered)
	return !first.Ended()
}

// endsAndCounts ends a thread that another process has left, and checks what is counted of it: p
// has the calls of that process, which has answered these questions.
func endsAndCounts(t *testing.T, s storage, name string, p *provider, answered map[string]bool) {
	t.Helper()
	g, limits := spender(t, s, name, p, new(storetest.Life))
	if err := finish(t, s, g, name, func(id string) { answered[id] = true }); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	records, err := limits.Usage(t.Context(), budget.Range{})
	if err != nil || len(records) != 1 {
		t.Fatalf("%s: got %+v, %v; want one record", name, records, err)
	}
	r, made := records[0], p.made.Load()
	if r.Calls > made || made > r.Calls+r.Lost.Calls || made < 3 {
		t.Errorf("%s: the provider was called %d times; got %d calls and %d lost", name, made, r.Calls, r.Lost.Calls)
	}
	if want := budget.Money(r.Calls) * 20; r.Input != 10*r.Calls || r.Output != 5*r.Calls || r.Money != want || r.Thread != name || r.Model != "m" {
		t.Errorf("%s: got %+v, want 10 and 5 tokens and 0.00002 EUR a call", name, r)
	}
	if r.Lost.Calls > 1 || r.Reserved.Calls > 0 {
		t.Errorf("%s: %d calls lost and %d reserved; one process died", name, r.Lost.Calls, r.Reserved.Calls)
	}
	accounts, err := limits.Accounts(t.Context())
	if err != nil || len(accounts) != 2 {
		t.Fatalf("%s: got %+v, %v; want two accounts", name, accounts, err)
	}
	for _, a := range accounts {
		if want := r.Calls + r.Lost.Calls; a.Spent.Calls != want || a.Reserved.Calls > 0 || a.Running > 0 {
			t.Errorf("%s: limit %s has %+v, want %d calls", name, a.Limit, a, want)
		}
		if a.Limit == "calls" && a.Most.Calls != 2+int64(len(answered)) {
			t.Errorf("%s: %d answers raised 2 calls to %d", name, len(answered), a.Most.Calls)
		}
	}
}
