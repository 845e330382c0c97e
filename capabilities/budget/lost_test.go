package budget_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/weftrun/weft/capabilities/budget"
	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
)

// fate makes a write of a store, or does not.
type fate func(ctx context.Context, write func(context.Context) error) error

// unreliable is a store whose writes are made by a function, if it is not nil.
type unreliable struct {
	document.Store
	batch fate
}

func (u *unreliable) Batch(ctx context.Context, p document.Place, c []document.Change) (docs []document.Doc, err error) {
	write := func(ctx context.Context) error { docs, err = u.Store.Batch(ctx, p, c); return err }
	if u.batch == nil {
		return docs, write(ctx)
	}
	if err := u.batch(ctx, write); err != nil {
		return nil, err
	}
	return docs, nil
}

// loses makes a write and loses its reply.
func loses(ctx context.Context, write func(context.Context) error) error {
	if err := write(ctx); err != nil {
		return err
	}
	return checkpoint.ErrUnknownOutcome
}

// away makes no write.
func away(context.Context, func(context.Context) error) error { return checkpoint.ErrUnavailable }

// oneOfTen are limits that one call of 6 EUR nearly uses up.
var oneOfTen = budget.Config{Limits: []budget.Limit{
	{Name: "ten", Most: budget.Amount{Money: 10 * budget.Unit}},
	{Name: "one", By: budget.ByModel, Concurrency: 1},
}}

var six = budget.Amount{Money: 6 * budget.Unit}

// wantReserved checks the calls that are reserved in each limit and in the record of the day.
func wantReserved(t *testing.T, l *budget.Limiter, want int64) {
	t.Helper()
	accounts, err := l.Accounts(t.Context())
	records, err2 := l.Usage(t.Context(), budget.Range{})
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	for _, a := range accounts {
		if a.Reserved.Calls != want || a.Running != int(want) || (a.Spent != budget.Amount{}) {
			t.Errorf("limit %s: got %+v reserved, %d running and %+v spent; want %d calls reserved", a.Limit, a.Reserved, a.Running, a.Spent, want)
		}
	}
	for _, r := range records {
		if r.Reserved.Calls != want || r.Lost.Calls != 0 || r.Calls != 0 {
			t.Errorf("got the record %+v, want %d calls reserved", r, want)
		}
	}
	if len(accounts) != 2 || len(records) != 1 {
		t.Errorf("got %d accounts and %d records, want 2 and 1", len(accounts), len(records))
	}
}

func TestReserve_LostReply(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	for name, c := range map[string]struct {
		ctx   context.Context
		batch fate
		want  error
	}{
		"lost reply": {t.Context(), loses, checkpoint.ErrUnknownOutcome},
		"ended context": {ctx, func(ctx context.Context, write func(context.Context) error) error {
			_ = write(ctx)
			cancel()
			return ctx.Err()
		}, context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			clock, docs := &clock{now: noon}, &unreliable{Store: new(document.Map)}
			config := oneOfTen
			config.Now = clock.read
			l := limiter(t, docs, config)
			docs.batch = func(ctx context.Context, write func(context.Context) error) error {
				docs.batch = nil // for the removal
				return c.batch(ctx, write)
			}
			if _, err := l.Reserve(c.ctx, "m", six); !errors.Is(err, c.want) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
			wantReserved(t, l, 0)
			clock.pass(24 * time.Hour)
			if _, err := limiter(t, docs, config).Reserve(t.Context(), "m", six); err != nil {
				t.Errorf("rule: a call that was not made costs nothing\n got: %v", err)
			}
		})
	}
}

// The store is away when the reservation is to be removed, and the next call removes it.
func TestReserve_LostReplyAndRemoval(t *testing.T) {
	docs := &unreliable{Store: new(document.Map)}
	l := limiter(t, docs, oneOfTen)
	docs.batch = func(ctx context.Context, write func(context.Context) error) error {
		docs.batch = away
		return loses(ctx, write)
	}
	if _, err := l.Reserve(t.Context(), "m", six); !errors.Is(err, checkpoint.ErrUnknownOutcome) {
		t.Fatalf("got %v, want %v", err, checkpoint.ErrUnknownOutcome)
	}
	wantReserved(t, l, 1)
	docs.batch = nil
	r, err := l.Reserve(t.Context(), "m", six)
	if err != nil {
		t.Fatalf("rule: the next call removes the reservation\n got: %v", err)
	}
	wantReserved(t, l, 1) // its own
	_, err = l.Reserve(t.Context(), "m", six)
	if e := refused(t, err); e.Reserved != (budget.Amount{Calls: 1, Money: six.Money}) {
		t.Errorf("got %+v reserved, want one call", e.Reserved)
	}
	if err := r.Settle(t.Context(), budget.Spent{}); err != nil {
		t.Fatal(err)
	}
}

// A write that comes after its reservation was removed is refused, or removed by the next call.
func TestReserve_LateWrite(t *testing.T) {
	for name, next := range map[string]bool{"before the next call": false, "after the next call": true} {
		t.Run(name, func(t *testing.T) {
			docs := &unreliable{Store: new(document.Map)}
			l := limiter(t, docs, oneOfTen)
			var late func(context.Context) error
			docs.batch = func(_ context.Context, write func(context.Context) error) error {
				late, docs.batch = write, nil
				return checkpoint.ErrUnknownOutcome
			}
			if _, err := l.Reserve(t.Context(), "m", six); !errors.Is(err, checkpoint.ErrUnknownOutcome) {
				t.Fatalf("got %v, want %v", err, checkpoint.ErrUnknownOutcome)
			}
			if !next {
				if err := late(t.Context()); err != nil {
					t.Fatal(err)
				}
				wantReserved(t, l, 1)
			}
			if _, err := l.Reserve(t.Context(), "m", six); err != nil {
				t.Errorf("rule: a reservation of no call keeps no other from being made\n got: %v", err)
			}
			if next {
				if err := late(t.Context()); !errors.Is(err, document.ErrConflict) {
					t.Errorf("got %v for the late write, want %v", err, document.ErrConflict)
				}
			}
			wantReserved(t, l, 1)
		})
	}
}

// fates is the key of what happens to the writes of a call, in a context: a *[]fate.
type fates struct{}

// Processes reserve at once over a store that loses replies and calls. In the end nothing is
// reserved, and exactly the calls that were made are counted.
func TestReserve_LostRepliesOfManyProcesses(t *testing.T) {
	const processes, rounds = 3, 2
	kinds := [][]fate{nil, {away}, {loses}, {loses, loses}, {loses, away}}
	docs := &unreliable{Store: new(document.Map)}
	docs.batch = func(ctx context.Context, write func(context.Context) error) error {
		left, _ := ctx.Value(fates{}).(*[]fate)
		if left == nil || len(*left) == 0 {
			return write(ctx)
		}
		err := (*left)[0](ctx, write)
		if !errors.Is(err, document.ErrConflict) {
			*left = (*left)[1:]
		}
		return err
	}
	config := budget.Config{Limits: []budget.Limit{{Name: "calls", Most: budget.Amount{Calls: 1e6}}, {Name: "few", Concurrency: 1e6}}}
	call := func(l *budget.Limiter, kind []fate) {
		r, err := l.Reserve(context.WithValue(t.Context(), fates{}, &kind), "m", budget.Amount{})
		if err == nil {
			err = r.Settle(t.Context(), budget.Spent{Input: 1})
		}
		if err != nil && !checkpoint.IsTemporary(err) {
			t.Error(err)
		}
	}
	var all sync.WaitGroup
	for range processes {
		l := limiter(t, docs, config)
		all.Go(func() {
			var own sync.WaitGroup
			for i := range rounds * len(kinds) {
				own.Go(func() { call(l, kinds[i%len(kinds)]) })
			}
			own.Wait()
			call(l, nil)
		})
	}
	all.Wait()
	l := limiter(t, docs, config)
	accounts, err := l.Accounts(t.Context())
	records, err2 := l.Usage(t.Context(), budget.Range{})
	if err != nil || err2 != nil || len(accounts) != 2 || len(records) != 1 {
		t.Fatalf("got %+v and %+v, %v, %v", accounts, records, err, err2)
	}
	const made = processes * (rounds + 1)
	for _, a := range accounts {
		if a.Spent.Calls != made || a.Reserved.Calls != 0 || a.Running != 0 {
			t.Errorf("got %+v, want %d calls spent and none reserved", a, made)
		}
	}
	if r := records[0]; r.Calls != made || r.Reserved.Calls != 0 || r.Lost.Calls != 0 {
		t.Errorf("got %+v, want %d calls", r, made)
	}
}
