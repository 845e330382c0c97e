package budget_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/capabilities/budget"
	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state/message"
)

func TestConfig_RefusesWhatCannotHold(t *testing.T) {
	for want, l := range map[string]budget.Limit{
		"must have a name":     {Most: budget.Amount{Calls: 1}},
		"it must be by":        {Name: "l", By: "metadata.", Most: budget.Amount{Calls: 1}},
		"period must be":       {Name: "l", Per: "week", Most: budget.Amount{Calls: 1}},
		"must not be negative": {Name: "l", Most: budget.Amount{Money: -1}},
		"calls and a time":     {Name: "l", Rate: budget.Rate{Calls: 1}},
		"a burst needs":        {Name: "l", Concurrency: 1, Rate: budget.Rate{Burst: 1}},
		"must bound an amount": {Name: "l"},
		"a period needs":       {Name: "l", Per: budget.Day, Concurrency: 1},
		"a raise of money":     {Name: "l", Most: budget.Amount{Calls: 1}, Raise: budget.Amount{Money: 1}},
	} {
		_, err := budget.Over(new(document.Map), budget.Config{Limits: []budget.Limit{l}})
		if !errors.Is(err, budget.ErrConfig) || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got %v, want an ErrConfig with %q", l, err, want)
		}
	}
	_, err := budget.Over(new(document.Map), budget.Config{
		Limits: []budget.Limit{{Name: "l", Concurrency: 1}, {Name: "l", Concurrency: 1}},
		Prices: budget.Prices{"m": {Input: -1}}, Lease: -1,
	})
	for _, want := range []string{"twice", `price of "m"`, "Lease"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want it to report %q too", err, want)
		}
	}
	if _, err := budget.Open(new(checkpoint.Memory), budget.Config{}); !errors.Is(err, budget.ErrConfig) {
		t.Errorf("a store without documents: got %v, want an ErrConfig", err)
	}
}

func TestLimit_OfAPeriodBeginsAgain(t *testing.T) {
	c, p := &clock{now: noon}, &provider{usage: message.Usage{Input: 400, Output: 100}}
	l := limiter(t, new(document.Map), budget.Config{Now: c.read, Limits: []budget.Limit{{Name: "day", Most: budget.Amount{Tokens: 1800}, Per: budget.Day}}})
	m := l.Model("m", p)
	for range 2 {
		if err := ask(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	e := refused(t, ask(t.Context(), m)) // 1,000 spent, and another 1,000 wanted
	if e.What != budget.Tokens || e.Spent.Tokens != 1000 || e.Most.Tokens != 1800 || e.Code() != "budget_tokens" || model.Retriable(e) {
		t.Errorf("got %+v, want 1,000 of 1,800 tokens", e)
	}
	if want := "1000 tokens spent and 0 tokens reserved of 1800 tokens"; !strings.Contains(e.Error(), want) {
		t.Errorf("got %q, want %q", e.Error(), want)
	}
	c.pass(12 * time.Hour)
	if err := ask(t.Context(), m); err != nil {
		t.Errorf("on the next day: %v", err)
	}
	if p.made.Load() != 3 {
		t.Errorf("the model was called %d times, want 3", p.made.Load())
	}
}

func TestLimit_OfARate(t *testing.T) {
	c, p := &clock{now: noon}, &provider{}
	docs := new(document.Map)
	config := budget.Config{Now: c.read, Limits: []budget.Limit{{Name: "pace", By: budget.ByModel, Rate: budget.Rate{Calls: 60, Per: time.Minute, Burst: 2}}}}
	one, other := limiter(t, docs, config).Model("m", p), limiter(t, docs, config).Model("m", p)
	for _, m := range []model.Model{one, other} {
		if err := ask(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	err := ask(t.Context(), one)
	e := refused(t, err)
	var asks interface{ RetryAfter() time.Duration }
	if e.What != budget.PerTime || !model.Retriable(err) || !errors.As(err, &asks) || asks.RetryAfter() != time.Second {
		t.Errorf("got %+v, want a temporary failure for 1s", e)
	}
	c.pass(time.Second)
	if err := ask(t.Context(), other); err != nil {
		t.Error(err)
	}
	refused(t, ask(t.Context(), one))
	if err := ask(t.Context(), limiter(t, docs, config).Model("another", p)); err != nil {
		t.Errorf("another key: %v", err)
	}
}

// A place is released by Settle, and by the lease of a process that died.
func TestLimit_OfConcurrency(t *testing.T) {
	c, docs := &clock{now: noon}, new(document.Map)
	config := budget.Config{Now: c.read, Lease: time.Minute, Limits: []budget.Limit{{Name: "few", Concurrency: 2}}}
	dead, alive := limiter(t, docs, config), limiter(t, docs, config)
	first, err := alive.Reserve(t.Context(), "m", budget.Amount{})
	if err != nil {
		t.Fatal(err)
	}
	second, err := dead.Reserve(t.Context(), "m", budget.Amount{Tokens: 7})
	if err != nil {
		t.Fatal(err)
	}
	_, err = alive.Reserve(t.Context(), "m", budget.Amount{})
	if e := refused(t, err); e.What != budget.Concurrency || e.Running != 2 || !model.Retriable(err) {
		t.Errorf("got %+v, want 2 running", e)
	}
	for range 2 { // a repeated Settle has no effect
		if err := first.Settle(t.Context(), budget.Spent{Input: 1}); err != nil {
			t.Fatal(err)
		}
	}
	c.pass(2 * time.Minute) // the reservations lapse
	for range 2 {
		if _, err := alive.Reserve(t.Context(), "m", budget.Amount{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := second.Settle(t.Context(), budget.Spent{Input: 5}); err != nil { // it was alive after all
		t.Fatal(err)
	}
	c.pass(2 * time.Hour)
	records, err := alive.Usage(t.Context(), budget.Range{})
	if err != nil || len(records) != 1 {
		t.Fatalf("got %+v, %v", records, err)
	}
	if r := records[0]; r.Calls != 2 || r.Input != 6 || r.Lost.Calls != 2 {
		t.Errorf("got %+v, want 2 calls with 6 tokens, and 2 lost", r)
	}
}

// A call that lasts longer than the lease keeps its place.
func TestReservation_IsRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiter(t, new(document.Map), budget.Config{Now: time.Now, Lease: time.Minute, Limits: []budget.Limit{{Name: "one", Concurrency: 1}}})
		r, err := l.Reserve(t.Context(), "m", budget.Amount{})
		if err != nil {
			t.Fatal(err)
		}
		for range 10 {
			time.Sleep(time.Minute)
			_, err := l.Reserve(t.Context(), "m", budget.Amount{})
			refused(t, err)
		}
		if err := r.Settle(t.Context(), budget.Spent{}); err != nil {
			t.Fatal(err)
		}
		if r, err = l.Reserve(t.Context(), "m", budget.Amount{}); err != nil {
			t.Error(err)
		} else if err := r.Settle(t.Context(), budget.Spent{}); err != nil {
			t.Error(err)
		}
	})
}

func TestModel_CountsWhatWasBilled(t *testing.T) {
	broken := &model.Error{Kind: model.CutOff}
	for name, c := range map[string]struct {
		p    *provider
		want budget.Record
	}{
		"reported":    {&provider{usage: message.Usage{Input: 10, Output: 3, Cached: 4}}, budget.Record{Calls: 1, Input: 10, Output: 3, Money: 6*1 + 4*2 + 3*3}},
		"overloaded":  {&provider{fail: &model.Error{Kind: model.Overloaded}}, budget.Record{Calls: 1}},
		"it broke":    {&provider{fail: broken}, budget.Record{Calls: 1}},
		"unreachable": {&provider{fail: &model.Error{Kind: model.Unreachable}}, budget.Record{Calls: 1}},
	} {
		l := limiter(t, new(document.Map), budget.Config{Prices: budget.Prices{"": {Input: 1e6, Cached: 2e6, Output: 3e6}}})
		_ = ask(t.Context(), l.Model("m", c.p))
		records, err := l.Usage(t.Context(), budget.Range{})
		if err != nil || len(records) != 1 {
			t.Fatalf("%s: got %+v, %v", name, records, err)
		}
		got := records[0]
		if name == "it broke" { // the tokens are estimates
			c.want.Input, c.want.Output, c.want.Money = got.Input, got.Output, budget.Money(got.Input+3*got.Output)
			if got.Input == 0 {
				t.Errorf("%s: the request was not counted", name)
			}
		}
		if got.Calls != c.want.Calls || got.Input != c.want.Input || got.Output != c.want.Output || got.Money != c.want.Money || (got.Reserved != budget.Amount{}) {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
	}
}

func TestLimit_OfMoneyNeedsAPrice(t *testing.T) {
	p := &provider{}
	l := limiter(t, new(document.Map), budget.Config{Limits: []budget.Limit{{Name: "m", Most: budget.Amount{Money: 1}}}})
	if err := ask(t.Context(), l.Model("m", p)); !errors.Is(err, budget.ErrNoPrice) || p.made.Load() > 0 {
		t.Errorf("got %v and %d calls, want an ErrNoPrice", err, p.made.Load())
	}
}

func TestLimit_NeedsItsKey(t *testing.T) {
	p := &provider{}
	for _, by := range []string{budget.ByThread, "metadata.tenant"} {
		l := limiter(t, new(document.Map), budget.Config{Limits: []budget.Limit{{Name: "l", By: by, Concurrency: 1}}})
		if err := ask(t.Context(), l.Model("m", p)); !errors.Is(err, budget.ErrKey) || p.made.Load() > 0 {
			t.Errorf("by %s: got %v and %d calls, want an ErrKey", by, err, p.made.Load())
		}
	}
}

// asker compiles a graph with one call in a node.
func asker(t *testing.T, l *budget.Limiter, p *provider) *graph.Graph[log] {
	b := graph.New[log]("asks")
	m := l.Model("m", p)
	b.Node("a", graph.Func(func(ctx context.Context, s *log) error {
		if err := ask(ctx, m); err != nil {
			return err
		}
		s.Log.Append("done")
		return nil
	}))
	b.Edge(graph.Start, "a")
	b.Edge("a", graph.End)
	g, err := b.Compile(graph.Config{Store: new(checkpoint.Memory)})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestLimit_AsksAPerson(t *testing.T) {
	p := &provider{usage: message.Usage{Input: 500, Output: 500}}
	l := limiter(t, new(document.Map), budget.Config{Currency: "EUR", Prices: budget.Prices{"m": {Input: 1000 * budget.Unit, Output: 1000 * budget.Unit}},
		Limits: []budget.Limit{{Name: "tenant", By: "metadata.tenant", Per: budget.Month, Most: budget.Amount{Money: 2 * budget.Unit}, Raise: budget.Amount{Money: 3 * budget.Unit}, To: "finance"}}})
	g := asker(t, l, p)
	run := func(thread string) (graph.Result[log], error) {
		return g.Invoke(t.Context(), log{}, graph.RunOptions{Thread: thread, Metadata: map[string]string{"tenant": "acme"}})
	}
	if res, err := run("t1"); err != nil || res.Status != graph.Done {
		t.Fatalf("the first call: %s, %v", res.Status, err)
	}
	var open []graph.Interrupt
	for _, thread := range []string{"t2", "t3", "t4"} {
		res, err := run(thread)
		if err != nil || res.Status != graph.Interrupted || len(res.Interrupts) != 1 {
			t.Fatalf("%s: %s, %v; want a question", thread, res.Status, err)
		}
		open = append(open, res.Interrupts[0])
	}
	q := open[0]
	if q.Prompt != "Spend 3.00 EUR more?" || q.To != "finance" || !strings.Contains(q.Detail, "Limit tenant of acme: 1.00 spent and 0.00 reserved of 2.00 EUR. The month is 2026-05 (UTC).") {
		t.Errorf("the question is %q, %q to %q", q.Prompt, q.Detail, q.To)
	}
	answer := func(thread string, i int, yes bool) (graph.Result[log], error) {
		return g.Resume(t.Context(), graph.Answer(open[i].ID, yes), graph.RunOptions{Thread: thread})
	}
	for i, thread := range []string{"t2", "t3"} { // the second answer does not raise it again
		if res, err := answer(thread, i, true); err != nil || res.Status != graph.Done {
			t.Errorf("%s: %s, %v", thread, res.Status, err)
		}
	}
	accounts, err := l.Accounts(t.Context())
	if err != nil || len(accounts) != 1 || accounts[0].Key != "acme" || accounts[0].Most.Money != 5*budget.Unit || accounts[0].Spent.Money != 3*budget.Unit {
		t.Errorf("got %+v, %v; want 3 of 5 EUR", accounts, err)
	}
	if res, err := answer("t4", 2, false); err != nil || res.Status != graph.Done { // the limit is higher now
		t.Errorf("t4: %s, %v", res.Status, err)
	}
	res, err := run("t5")
	if err != nil || res.Status != graph.Interrupted {
		t.Fatalf("t5: %s, %v", res.Status, err)
	}
	_, err = g.Resume(t.Context(), graph.Answer(res.Interrupts[0].ID, false), graph.RunOptions{Thread: "t5"})
	if e := refused(t, err); !e.Declined || e.What != budget.Spending {
		t.Errorf("got %+v, want it declined", e)
	}
	var failed *graph.NodeError
	if !errors.As(err, &failed) || failed.Code() != "budget_money" || failed.Kind() != graph.KindPermanent {
		t.Errorf("got %v, want a permanent failure with the code budget_money", err)
	}
}

func TestSum_AddsUp(t *testing.T) {
	records := []budget.Record{{Day: "1", Thread: "b", Calls: 1, Money: 5}, {Day: "2", Thread: "a", Calls: 2}, {Day: "2", Thread: "b", Calls: 3, Money: 6, Lost: budget.Amount{Calls: 1}}}
	got := budget.Sum(records, func(r budget.Record) string { return r.Thread })
	if len(got) != 2 || got[0].Key != "a" || got[0].Calls != 2 || got[1].Calls != 4 || got[1].Money != 11 || got[1].Lost.Calls != 1 {
		t.Errorf("got %+v", got)
	}
}

// Prune leaves what still counts: later days, counts without a period, and calls that run.
func TestPrune_RemovesWhatIsOver(t *testing.T) {
	onAllStores(t, func(t *testing.T, s storage) {
		c := &clock{now: noon}
		l := limiter(t, s.docs, budget.Config{Now: c.read, Limits: []budget.Limit{
			{Name: "month", Per: budget.Month, Most: budget.Amount{Calls: 9}},
			{Name: "day", By: budget.ByModel, Per: budget.Day, Most: budget.Amount{Calls: 9}},
			{Name: "ever", Most: budget.Amount{Calls: 9}},
		}})
		call := func(model string) {
			r, err := l.Reserve(t.Context(), model, budget.Amount{})
			if err == nil {
				err = r.Settle(t.Context(), budget.Spent{Input: 1})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		call("a")
		c.pass(36 * time.Hour)
		call("b")
		r, err := l.Reserve(t.Context(), "c", budget.Amount{})
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []int{2, 0} { // the record of a, and its count of that day
			if n, err := l.Prune(t.Context(), c.read()); err != nil || n != want {
				t.Errorf("got %d, %v; want %d", n, err, want)
			}
		}
		records, err := l.Usage(t.Context(), budget.Range{})
		accounts, err2 := l.Accounts(t.Context())
		if err != nil || err2 != nil || len(records) != 2 || len(accounts) != 4 {
			t.Errorf("got %+v and %+v, %v, %v", records, accounts, err, err2)
		}
		call("a") // as if it were new
		for _, a := range accounts {
			if a.Limit == "ever" && a.Spent.Calls != 2 {
				t.Errorf("got %+v, want 2 calls", a)
			}
		}
		c.pass(60 * 24 * time.Hour)
		if n, err := l.Prune(t.Context(), c.read()); err != nil || n != 7 {
			t.Errorf("later: got %d, %v; want 7", n, err)
		}
		if err := r.Settle(t.Context(), budget.Spent{Input: 1}); err != nil { // too late
			t.Error(err)
		}
		records, err = l.Usage(t.Context(), budget.Range{})
		accounts, err2 = l.Accounts(t.Context())
		if err != nil || err2 != nil || len(records) != 0 || len(accounts) != 1 {
			t.Errorf("at the end: got %+v and %+v, %v, %v; want the count without a period", records, accounts, err, err2)
		}
	})
}

// Calls of many processes together never exceed a limit, on each store.
func TestLimit_HoldsAcrossProcesses(t *testing.T) {
	onAllStores(t, func(t *testing.T, s storage) {
		const processes, calls, most = 4, 12, 20
		config := budget.Config{Limits: []budget.Limit{
			{Name: "calls", Most: budget.Amount{Calls: most}},
			{Name: "tokens", By: budget.ByModel, Most: budget.Amount{Tokens: 1e6}},
		}}
		var made atomic.Int64
		var all sync.WaitGroup
		for range processes {
			l := limiter(t, s.docs, config)
			all.Go(func() {
				for range calls {
					r, err := l.Reserve(t.Context(), "m", budget.Amount{Tokens: 3})
					if err == nil {
						made.Add(1)
						err = r.Settle(t.Context(), budget.Spent{Input: 1, Output: 1, Money: 1})
					}
					if e := new(budget.Error); err != nil && !errors.As(err, &e) {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		if made.Load() != most {
			t.Errorf("%d calls were made, the limit is %d", made.Load(), most)
		}
		records, err := limiter(t, s.docs, config).Usage(t.Context(), budget.Range{From: noon, Until: noon.AddDate(0, 0, 1)})
		if err != nil || len(records) != 1 || records[0].Calls != most || records[0].Money != most || (records[0].Reserved != budget.Amount{}) {
			t.Errorf("got %+v, %v; want %d calls", records, err, most)
		}
		if records, err = limiter(t, s.docs, config).Usage(t.Context(), budget.Range{Until: noon}); err != nil || len(records) > 0 {
			t.Errorf("before that day: got %+v, %v", records, err)
		}
	})
}

// countingDocuments counts the calls of the store.
type countingDocuments struct {
	document.Store
	reads, writes atomic.Int64
}

func (c *countingDocuments) Get(ctx context.Context, p document.Place, id string) (document.Doc, error) {
	c.reads.Add(1)
	return c.Store.Get(ctx, p, id)
}

func (c *countingDocuments) Batch(ctx context.Context, p document.Place, changes []document.Change) ([]document.Doc, error) {
	c.writes.Add(1)
	return c.Store.Batch(ctx, p, changes)
}

// A check of a budget is one call of the store, whatever the number of limits.
func TestReserve_IsOneWrite(t *testing.T) {
	docs := &countingDocuments{Store: new(document.Map)}
	var limits []budget.Limit
	for i := range 10 {
		limits = append(limits, budget.Limit{Name: fmt.Sprint("l", i), Most: budget.Amount{Tokens: 1e9}, Rate: budget.Rate{Calls: 1e6, Per: time.Second}})
	}
	l := limiter(t, docs, budget.Config{Limits: limits})
	for i := range 3 {
		docs.reads.Store(0)
		docs.writes.Store(0)
		r, err := l.Reserve(t.Context(), "m", budget.Amount{Tokens: 1})
		if err != nil {
			t.Fatal(err)
		}
		if reads, writes := docs.reads.Load(), docs.writes.Load(); writes != 1 || i > 0 && reads > 0 {
			t.Errorf("call %d: the reservation is %d reads and %d writes, want 1 write", i, reads, writes)
		}
		if err := r.Settle(t.Context(), budget.Spent{Input: 1}); err != nil {
			t.Fatal(err)
		}
		if reads, writes := docs.reads.Load(), docs.writes.Load(); writes != 2 || i > 0 && reads > 0 {
			t.Errorf("call %d: with Settle it is %d reads and %d writes, want 2 writes", i, reads, writes)
		}
	}
}

func BenchmarkReserve(b *testing.B) {
	l := limiter(b, new(document.Map), budget.Config{Limits: []budget.Limit{{Name: "tokens", Most: budget.Amount{Tokens: 1e12}}}})
	b.ReportAllocs()
	for b.Loop() {
		r, err := l.Reserve(b.Context(), "m", budget.Amount{Tokens: 1})
		if err == nil {
			err = r.Settle(b.Context(), budget.Spent{Input: 1})
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}
