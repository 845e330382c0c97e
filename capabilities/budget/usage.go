package budget

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/weftrun/weft/checkpoint/document"
)

// Record is what a thread spent with a model on a day. Usage returns it.
type Record struct {
	Day    string `json:"day"` // in UTC, such as 2026-05-01
	Thread string `json:"thread,omitempty"`
	Model  string `json:"model,omitempty"`
	// Metadata has the values of the run that limits are by.
	Metadata map[string]string `json:"metadata,omitempty"`
	Calls    int64             `json:"calls"`
	Input    int64             `json:"input_tokens"`
	Output   int64             `json:"output_tokens"`
	Money    Money             `json:"money"`
	// Lost is what calls reserved that did not settle: their processes died, and what they spent is
	// not known. It is counted in the limits, and not in the fields above.
	Lost Amount `json:"lost,omitzero"`
	// Reserved is what calls reserved that run, or whose processes died a short while ago.
	Reserved Amount `json:"reserved,omitzero"`
}

// day is the document of a Record.
type day struct {
	Record
	Open reservations `json:"open,omitempty"`
}

// reserve adds a reservation.
func (d *day) reserve(id string, o open, now time.Time) {
	d.Lost = d.Lost.plus(d.Open.lost(now, o.Task, o.Owner))
	if d.Open == nil {
		d.Open = reservations{}
	}
	d.Open[id] = o
}

// settle adds what was spent.
func (d *day) settle(id string, s Spent) {
	if d.Open.settle(id) {
		d.Calls = sum(d.Calls, 1)
		d.Input, d.Output = sum(d.Input, s.Input), sum(d.Output, s.Output)
		d.Money = sum(d.Money, s.Money)
	}
}

// record returns the record as Usage returns it.
func (d *day) record(now time.Time) Record {
	r := d.Record
	open := maps.Clone(d.Open)
	r.Lost = r.Lost.plus(open.lost(now, "", ""))
	r.Reserved, _ = open.total(now)
	return r
}

// Sum adds up records that have the same key, in the order of the keys.
func Sum(records []Record, key func(Record) string) []Total {
	totals := map[string]*Total{}
	for _, r := range records {
		k := key(r)
		t := totals[k]
		if t == nil {
			t = &Total{Key: k}
			totals[k] = t
		}
		t.Calls, t.Input, t.Output = sum(t.Calls, r.Calls), sum(t.Input, r.Input), sum(t.Output, r.Output)
		t.Money, t.Lost, t.Reserved = sum(t.Money, r.Money), t.Lost.plus(r.Lost), t.Reserved.plus(r.Reserved)
	}
	var all []Total
	for _, k := range slices.Sorted(maps.Keys(totals)) {
		all = append(all, *totals[k])
	}
	return all
}

// Total is the sum of records with a key.
type Total struct {
	Key      string `json:"key"`
	Calls    int64  `json:"calls"`
	Input    int64  `json:"input_tokens"`
	Output   int64  `json:"output_tokens"`
	Money    Money  `json:"money"`
	Lost     Amount `json:"lost,omitzero"`
	Reserved Amount `json:"reserved,omitzero"`
}

// Range selects records by their day: from that of From on, and before that of Until. A zero time
// is no bound.
type Range struct{ From, Until time.Time }

// Usage returns what was spent, in the order of the days.
func (l *Limiter) Usage(ctx context.Context, of Range) ([]Record, error) {
	t, err := l.open(ctx)
	if err != nil {
		return nil, err
	}
	from, until := dayOrder, dayOrder+"~"
	if !of.From.IsZero() {
		from = dayOrder + of.From.UTC().Format(time.DateOnly)
	}
	if !of.Until.IsZero() {
		until = dayOrder + of.Until.UTC().Format(time.DateOnly)
	}
	docs, err := t.docs.Query(ctx, document.Query{Place: t.place, From: from, Until: until})
	if err != nil {
		return nil, fmt.Errorf("budget: %w", err)
	}
	now := l.now(ctx).UTC()
	records := make([]Record, len(docs))
	for i, d := range docs {
		var one day
		if err := json.Unmarshal(d.Value, &one); err != nil {
			return nil, fmt.Errorf("budget: the record %.100q: %w", d.ID, err)
		}
		records[i] = one.record(now)
	}
	return records, nil
}

// Account is what a limit counts for a key.
type Account struct {
	Limit    string `json:"limit"`
	By       string `json:"by,omitempty"`
	Key      string `json:"key,omitempty"`
	Period   string `json:"period,omitempty"` // that of Spent, such as 2026-05
	Most     Amount `json:"most,omitzero"`    // with all raises
	Spent    Amount `json:"spent"`
	Reserved Amount `json:"reserved,omitzero"`
	Running  int    `json:"running,omitempty"` // calls that have not lapsed
}

// Accounts returns the counts of all limits, as the last call of each key left them.
func (l *Limiter) Accounts(ctx context.Context) ([]Account, error) {
	t, err := l.open(ctx)
	if err != nil {
		return nil, err
	}
	docs, err := t.docs.Query(ctx, document.Query{Place: t.place, From: accountOrder, Until: accountOrder + "~"})
	if err != nil {
		return nil, fmt.Errorf("budget: %w", err)
	}
	now := l.now(ctx).UTC()
	all := make([]Account, len(docs))
	for i, d := range docs {
		var a account
		if err := json.Unmarshal(d.Value, &a); err != nil {
			return nil, fmt.Errorf("budget: the account %.100q: %w", d.ID, err)
		}
		all[i] = Account{Limit: a.Limit, By: a.By, Key: a.Key, Period: a.Window, Most: a.Most.plus(a.Raised), Spent: a.Spent}
		all[i].Reserved, all[i].Running = a.Open.total(now)
	}
	return all, nil
}

// Prune removes the records of days before that of a time, and the counts of periods that ended
// before it. It returns how many documents it has removed. Counts without a period stay.
func (l *Limiter) Prune(ctx context.Context, before time.Time) (removed int, err error) {
	t, err := l.open(ctx)
	if err != nil {
		return 0, err
	}
	now, at := l.now(ctx).UTC(), before.UTC().Format(layouts[Hour])
	old := func(d document.Doc) (bool, error) {
		var doc struct {
			Window string       `json:"window"`
			Open   reservations `json:"open"`
		}
		if err := json.Unmarshal(d.Value, &doc); err != nil {
			return false, fmt.Errorf("budget: the document %.100q: %w", d.ID, err)
		}
		_, running := doc.Open.total(now)
		return running == 0 && (d.Order != accountOrder || doc.Window != "" && doc.Window < at[:len(doc.Window)]), nil
	}
	for _, of := range [][2]string{{dayOrder, dayOrder + at[:len(time.DateOnly)]}, {accountOrder, accountOrder + "~"}} {
		q := document.Query{Place: t.place, From: of[0], Until: of[1], Limit: new(pruneAtOnce)}
		for {
			docs, err := t.docs.Query(ctx, q)
			if err != nil {
				return removed, fmt.Errorf("budget: %w", err)
			}
			for _, d := range docs {
				gone, err := old(d)
				if err != nil {
					return removed, err
				}
				if !gone {
					continue
				}
				switch _, err := t.docs.Batch(ctx, t.place, []document.Change{{ID: d.ID, If: &d.Version}}); {
				case err == nil:
					removed++
				case !errors.Is(err, document.ErrConflict): // else it is in use
					return removed, fmt.Errorf("budget: %w", err)
				}
				t.forget([]string{d.ID})
			}
			if len(docs) < pruneAtOnce {
				break
			}
			q.After = new(docs[len(docs)-1].Position())
		}
	}
	return removed, nil
}

// pruneAtOnce is how many documents Prune reads at once.
const pruneAtOnce = 500
