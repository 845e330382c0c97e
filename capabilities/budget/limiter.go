package budget

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state/message"
)

// Config are the settings of a [Limiter]. Without Limits it only records what is spent.
type Config struct {
	// Name separates the counts of several Limiters in a store; "" is "default".
	Name string
	// Limits must have different names.
	Limits []Limit
	// Currency is that of all amounts of money, such as EUR. It is only shown.
	Currency string
	// Prices are those of the models. A limit of money needs one for each model that it applies to.
	Prices Prices
	// Counter counts the tokens of a request before it is sent, and those that a provider does not
	// report; nil is message.Estimate{}.
	Counter message.Counter
	// Answer is how many tokens are reserved for an answer if the request has no MaxTokens; 0 is
	// 1,024.
	Answer int
	// Lease is after which time a dead process releases its places of a Concurrency; 0 is 30
	// seconds. Longer calls renew theirs.
	Lease time.Duration
	// Now is the clock; nil is that of the run, see graph.Now.
	Now func() time.Time
	// Log gets what fails after a call has ended; nil is slog.Default.
	Log *slog.Logger
}

// Limiter limits the calls of models and records what they spend. It is safe for concurrent use. A
// process should have one for each Config.Name: what another one has reserved for a task counts as
// lost when the task makes a call.
type Limiter struct {
	config Config
	open   func(context.Context) (*table, error)
	owner  string
}

// Open returns a limiter whose counts are in a store: sqlite, redis or postgres. A
// checkpoint.Memory has no documents: pass a document.Map to [Over].
func Open(store checkpoint.Store, c Config) (*Limiter, error) {
	if _, ok := store.(documents); !ok {
		return nil, noDocuments(store)
	}
	tables := new(opener)
	return newLimiter(c, func(ctx context.Context) (*table, error) { return tables.get(ctx, store, c.Name) })
}

// OfRun returns a limiter whose counts are in the store of the run that makes a call: Config.Store
// of its graph. A call outside a run with a store is an [ErrConfig]. The counts of a
// checkpoint.Memory are lost with the limiter.
func OfRun(c Config) (*Limiter, error) {
	tables := new(opener)
	return newLimiter(c, func(ctx context.Context) (*table, error) {
		store := graph.StoreOf(ctx)
		if store == nil {
			return nil, fmt.Errorf("%w: the call is not in a run with a store", ErrConfig)
		}
		return tables.get(ctx, store, c.Name)
	})
}

// documents is a store that has documents.
type documents interface {
	Documents(context.Context) (document.Store, error)
}

func noDocuments(store checkpoint.Store) error {
	return fmt.Errorf("%w: the store %T offers no documents", ErrConfig, store)
}

// opener opens the documents of stores when they are first used.
type opener struct {
	mu     sync.Mutex
	stores map[checkpoint.Store]*table
}

func (o *opener) get(ctx context.Context, store checkpoint.Store, name string) (*table, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	store = checkpoint.Unwrap(store)
	if !reflect.TypeOf(store).Comparable() {
		return nil, noDocuments(store)
	}
	if t := o.stores[store]; t != nil {
		return t, nil
	}
	var docs document.Store = new(document.Map)
	switch s := store.(type) {
	case documents:
		var err error
		if docs, err = s.Documents(ctx); err != nil {
			return nil, fmt.Errorf("budget: open the documents: %w", err)
		}
	case *checkpoint.Memory:
	default:
		return nil, noDocuments(store)
	}
	if o.stores == nil {
		o.stores = map[checkpoint.Store]*table{}
	}
	o.stores[store] = newTable(docs, name)
	return o.stores[store], nil
}

// Over returns a limiter whose counts are in these documents.
func Over(docs document.Store, c Config) (*Limiter, error) {
	t := newTable(docs, c.Name)
	return newLimiter(c, func(context.Context) (*table, error) { return t, nil })
}

func newLimiter(c Config, open func(context.Context) (*table, error)) (*Limiter, error) {
	var errs []error
	seen := map[string]bool{}
	for i := range c.Limits {
		l := &c.Limits[i]
		errs = append(errs, l.Check())
		if seen[l.Name] {
			errs = append(errs, fmt.Errorf("%w: limit %q: the name is there twice", ErrConfig, l.Name))
		}
		seen[l.Name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(c.Prices)) {
		if p := c.Prices[name]; min(p.Input, p.Output, p.Cached) < 0 {
			errs = append(errs, fmt.Errorf("%w: the price of %q must not be negative", ErrConfig, name))
		}
	}
	if c.Answer < 0 || c.Lease < 0 {
		errs = append(errs, fmt.Errorf("%w: Answer and Lease must not be negative (got %d and %v)", ErrConfig, c.Answer, c.Lease))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	c.Limits = slices.Clone(c.Limits)
	c.Answer, c.Lease = cmp.Or(c.Answer, 1024), cmp.Or(c.Lease, 30*time.Second)
	if c.Counter == nil {
		c.Counter = message.Estimate{}
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	return &Limiter{config: c, open: open, owner: rand.Text()}, nil
}

func (l *Limiter) now(ctx context.Context) time.Time {
	if l.config.Now != nil {
		return l.config.Now()
	}
	return graph.Now(ctx)
}
