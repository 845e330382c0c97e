package budget

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/weftrun/weft/graph"
)

// Spent is what a call has cost.
type Spent struct {
	Input, Output int64 // tokens
	Money         Money
}

// Reservation is what a call may spend until it settles.
type Reservation struct {
	limiter *Limiter
	table   *table
	id      string
	place   []target // the accounts
	day     string   // the id of the Record
	stop    func()   // ends the renewals
}

// target is an account of a limit.
type target struct {
	limit *Limit
	id    string
	key   string
}

// Reserve reserves an amount for one call of a model, or of something else with a name. In a run it
// is that of the run's thread. It returns an [*Error] if a limit refuses the call. Settle must be
// called when the call has ended. After an error nothing stays reserved, except while the store
// cannot be reached: then the next call with the same keys removes it.
func (l *Limiter) Reserve(ctx context.Context, model string, most Amount) (*Reservation, error) {
	if most.negative() {
		return nil, fmt.Errorf("budget: an amount must not be negative (got %+v)", most)
	}
	most.Calls = 1
	t, err := l.open(ctx)
	if err != nil {
		return nil, err
	}
	now := l.now(ctx).UTC()
	r := &Reservation{limiter: l, table: t, id: rand.Text(), stop: func() {}}
	rec := Record{Day: now.Format(time.DateOnly), Thread: graph.Thread(ctx), Model: model}
	until, renewed := now.Add(time.Hour), false
	for i := range l.config.Limits {
		limit := &l.config.Limits[i]
		if !limit.applies(model) {
			continue
		}
		key, err := limit.key(ctx, model, &rec)
		if err != nil {
			return nil, err
		}
		r.place = append(r.place, target{limit, accountID(limit.Name, key), key})
		if limit.Concurrency > 0 {
			until, renewed = now.Add(l.config.Lease), true
		}
	}
	r.day = dayID(rec)
	o := open{Amount: most, Task: graph.ExecutionID(ctx), Owner: l.owner, Until: until}
	sent := false
	err = t.update(ctx, r.ids(), func(d *batch) error {
		for _, p := range r.place {
			a := d.account(p.id)
			a.Key = p.key
			if refused := a.reserve(p.limit, r.id, o, now); refused != nil {
				refused.Currency = l.config.Currency
				return &refusal{refused, a.Window, a.Raises}
			}
		}
		own := d.day(r.day)
		own.Day, own.Thread, own.Model, own.Metadata = rec.Day, rec.Thread, rec.Model, rec.Metadata
		own.reserve(r.id, o, now)
		sent = true
		return nil
	})
	if err != nil {
		if sent && !errors.As(err, new(*refusal)) {
			r.revoke(ctx)
		}
		return nil, err
	}
	if renewed {
		r.stop = r.renew(ctx)
	}
	return r, nil
}

// refusal is an Error with the state of the account, for raise.
type refusal struct {
	err    *Error
	window string
	raises int
}

func (e *refusal) Error() string { return e.err.Error() }

// Unwrap returns the Error.
func (e *refusal) Unwrap() error { return e.err }

// key returns what the limit holds for in a call, and adds it to the record.
func (l *Limit) key(ctx context.Context, model string, rec *Record) (string, error) {
	switch l.By {
	case ByAll:
		return "", nil
	case ByModel:
		if model == "" {
			return "", fmt.Errorf("%w: limit %q: the model has no name", ErrKey, l.Name)
		}
		return model, nil
	case ByThread:
		if rec.Thread == "" {
			return "", fmt.Errorf("%w: limit %q: the run has no thread", ErrKey, l.Name)
		}
		return rec.Thread, nil
	}
	name := strings.TrimPrefix(l.By, byMetadata)
	value := graph.Metadata(ctx)[name]
	if value == "" {
		return "", fmt.Errorf("%w: limit %q: the metadata of the run has no %q", ErrKey, l.Name, name)
	}
	if rec.Metadata == nil {
		rec.Metadata = map[string]string{}
	}
	rec.Metadata[name] = value
	return value, nil
}

// ids returns the documents of the reservation.
func (r *Reservation) ids() []string {
	ids := []string{r.day}
	for _, p := range r.place {
		ids = append(ids, p.id)
	}
	return ids
}

// Settle replaces the reservation by what the call has cost. It also does so if ctx has ended.
// Another Settle of the reservation has no effect. If it fails, the reservation counts as spent.
func (r *Reservation) Settle(ctx context.Context, s Spent) error {
	if s.Input < 0 || s.Output < 0 || s.Money < 0 {
		return fmt.Errorf("budget: what was spent must not be negative (got %+v)", s)
	}
	r.stop()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), longestSettle)
	defer cancel()
	now := r.limiter.now(ctx).UTC()
	return r.table.update(ctx, r.ids(), func(d *batch) error {
		for _, p := range r.place {
			d.account(p.id).settle(p.limit, r.id, Amount{1, sum(s.Input, s.Output), s.Money}, now)
		}
		d.day(r.day).settle(r.id, s)
		return nil
	})
}

// revoke removes a reservation that may be stored although Reserve failed: a reply was lost, or the
// context ended. If that fails too, or the write comes later, the next updates of the documents
// remove it.
func (r *Reservation) revoke(ctx context.Context) {
	r.table.revoke(r.id, r.ids())
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), longestSettle)
	defer cancel()
	err := r.table.update(ctx, r.ids(), func(d *batch) error {
		for _, p := range r.place {
			d.account(p.id)
		}
		d.day(r.day)
		return nil
	})
	if err != nil {
		r.limiter.config.Log.Warn("budget: remove a reservation that may be stored; the next call tries again", "error", err)
	}
}

// longestSettle bounds the end of a call, and how long a reservation without one is removed.
const longestSettle = 10 * time.Second

// renew renews the reservation until the returned function is called, which waits for the last
// renewal.
func (r *Reservation) renew(ctx context.Context) (stop func()) {
	l := r.limiter
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var done sync.WaitGroup
	done.Go(func() {
		tick := time.NewTicker(max(l.config.Lease/3, time.Millisecond))
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			until := l.now(ctx).UTC().Add(l.config.Lease)
			err := r.table.update(ctx, r.ids(), func(d *batch) error {
				for _, p := range r.place {
					d.account(p.id).Open.renew(r.id, until)
				}
				d.day(r.day).Open.renew(r.id, until)
				return nil
			})
			if err != nil && ctx.Err() == nil {
				l.config.Log.Warn("budget: renew a reservation", "error", err)
			}
		}
	})
	return sync.OnceFunc(func() { cancel(); done.Wait() })
}

// raise raises a limit after an answer to the question about a refusal.
func (l *Limiter) raise(ctx context.Context, e *refusal, limit *Limit) error {
	t, err := l.open(ctx)
	if err != nil {
		return err
	}
	now := l.now(ctx).UTC()
	id := accountID(e.err.Limit, e.err.Key)
	return t.update(ctx, []string{id}, func(d *batch) error {
		d.account(id).raise(limit, e.window, e.raises, now)
		return nil
	})
}
