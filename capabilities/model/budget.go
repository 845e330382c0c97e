package model

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/weftrun/weft/state/message"
)

// Budget limits the cost of models. A limit of 0 is no limit.
type Budget struct {
	Calls  int           `json:"calls,omitempty"`
	Tokens int           `json:"tokens,omitempty"` // requests and answers together
	Money  float64       `json:"money,omitempty"`  // in the currency of the prices
	Time   time.Duration `json:"time,omitempty"`   // sum of all calls
}

// Spend is the cost of models.
type Spend struct {
	Calls  int           `json:"calls"`
	Input  int           `json:"input_tokens"`
	Output int           `json:"output_tokens"`
	Money  float64       `json:"money,omitempty"`
	Time   time.Duration `json:"time,omitempty"` // the sum of the durations of all calls
}

// Tokens returns the tokens of requests and answers together.
func (s Spend) Tokens() int { return s.Input + s.Output }

// Plus returns the sum.
func (s Spend) Plus(o Spend) Spend {
	return Spend{s.Calls + o.Calls, s.Input + o.Input, s.Output + o.Output, s.Money + o.Money, s.Time + o.Time}
}

// Limit names a limit of a [Budget].
type Limit string

// The limits.
const (
	LimitCalls  Limit = "calls"
	LimitTokens Limit = "tokens"
	LimitMoney  Limit = "money"
	LimitTime   Limit = "time"
)

// BudgetError is returned when a limit has been reached.
type BudgetError struct {
	Limit  Limit
	Budget Budget
	Spent  Spend
}

func (e *BudgetError) Error() string {
	switch e.Limit {
	case LimitCalls:
		return fmt.Sprintf("model: the budget is spent: %d of %d calls", e.Spent.Calls, e.Budget.Calls)
	case LimitTokens:
		return fmt.Sprintf("model: the budget is spent: %d of %d tokens", e.Spent.Tokens(), e.Budget.Tokens)
	case LimitMoney:
		return fmt.Sprintf("model: the budget is spent: %.4f of %.4f in money", e.Spent.Money, e.Budget.Money)
	}
	return fmt.Sprintf("model: the budget is spent: %s of %s", e.Spent.Time, e.Budget.Time)
}

// Code returns the error code, which is stored with the failure.
func (e *BudgetError) Code() string { return "model_budget_" + string(e.Limit) }

// Check returns a [*BudgetError] for the first limit that is reached.
func (b Budget) Check(s Spend) error {
	reached := func(l Limit) error { return &BudgetError{Limit: l, Budget: b, Spent: s} }
	switch {
	case b.Calls > 0 && s.Calls >= b.Calls:
		return reached(LimitCalls)
	case b.Tokens > 0 && s.Tokens() >= b.Tokens:
		return reached(LimitTokens)
	case b.Money > 0 && s.Money >= b.Money:
		return reached(LimitMoney)
	case b.Time > 0 && s.Time >= b.Time:
		return reached(LimitTime)
	}
	return nil
}

// Price is the price of a million tokens.
type Price struct {
	Input, Output float64
	Cached        float64 // input from the provider's cache; 0 is Input
}

// Of returns the cost of an answer.
func (p Price) Of(u message.Usage) float64 {
	cached := p.Cached
	if cached == 0 {
		cached = p.Input
	}
	return (float64(u.Input-u.Cached)*p.Input + float64(u.Cached)*cached + float64(u.Output)*p.Output) / 1e6
}

// Prices are the prices of models by the name in a request; "" is any other model.
type Prices map[string]Price

// For returns the price of a model.
func (p Prices) For(name string) (Price, bool) {
	price, ok := p[name]
	if !ok {
		price, ok = p[""]
	}
	return price, ok
}

// ErrNoPrice is returned when a budget limits money and a model has no price. The model was not
// called.
var ErrNoPrice = errors.New("model: no price is known")

// Meter counts the cost of the calls of many models and enforces a budget. All calls with a common
// budget share a meter, such as those of a run. It is safe for concurrent use; set its fields
// before.
//
// A call begins only if no limit is reached, and its cost is known when it has ended. Calls that
// run at once may therefore exceed the limits of tokens and money. The limit of calls is exact, and
// a call is stopped at the limit of time.
//
// If a provider does not report the cost of an answer, Counter counts its tokens. An answer that
// broke off is counted too.
type Meter struct {
	Budget Budget
	Prices Prices
	// Counter counts the tokens that the provider does not report; nil is message.Estimate{}.
	Counter message.Counter

	mu    sync.Mutex
	spent Spend
}

// Spent returns the cost so far. A running call counts as a call; its tokens count when it has
// ended.
func (m *Meter) Spent() Spend {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.spent
}

// Add adds a cost from elsewhere, such as an earlier process.
func (m *Meter) Add(s Spend) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.spent = m.spent.Plus(s)
}

// begin reserves a call.
func (m *Meter) begin(name string) (price Price, left time.Duration, err error) {
	price, ok := m.Prices.For(name)
	if !ok && m.Budget.Money > 0 {
		return price, 0, fmt.Errorf("%w: for %q", ErrNoPrice, name)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.Budget.Check(m.spent); err != nil {
		return price, 0, err
	}
	m.spent.Calls++
	return price, m.Budget.Time - m.spent.Time, nil
}

// Limited returns m with a meter. When a limit is reached, calls fail with a [*BudgetError].
func Limited(m Model, meter *Meter) Model {
	return Func(func(ctx context.Context, r Request) iter.Seq2[Chunk, error] {
		return func(yield func(Chunk, error) bool) { meter.stream(ctx, m, r, yield) }
	})
}

func (m *Meter) stream(ctx context.Context, inner Model, r Request, yield func(Chunk, error) bool) {
	price, left, err := m.begin(r.Model)
	if err != nil {
		yield(Chunk{}, err)
		return
	}
	own, cancel := m.bound(ctx, left)
	defer cancel()
	said := Fold{Request: r}
	begun := time.Now()
	defer func() { m.count(&said, price, time.Since(begun)) }()
	for c, err := range inner.Stream(own, r) {
		err = m.outOfTime(ctx, own, begun, err)
		said.note(c)
		if !yield(c, err) || err != nil {
			return
		}
	}
}

// bound returns a context that ends with the budget of time.
func (m *Meter) bound(ctx context.Context, left time.Duration) (context.Context, context.CancelFunc) {
	if m.Budget.Time == 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, left)
}

// outOfTime returns err, or a BudgetError if the call in own failed because its time was over.
func (m *Meter) outOfTime(ctx, own context.Context, begun time.Time, err error) error {
	if err == nil || own.Err() == nil || ctx.Err() != nil {
		return err
	}
	spent := m.Spent()
	spent.Time += time.Since(begun)
	return &BudgetError{Limit: LimitTime, Budget: m.Budget, Spent: spent}
}

// count adds the cost of an answer, even if it is incomplete.
func (m *Meter) count(said *Fold, price Price, took time.Duration) {
	u := said.cost(m.Counter)
	m.Add(Spend{Input: u.Input, Output: u.Output, Money: price.Of(u), Time: took})
}

// LimitedEmbedder returns e with a meter. When a limit is reached, calls fail with a
// [*BudgetError]. A request is one call, even if it is sent in parts. The tokens of a failed
// request are not known and do not count.
func LimitedEmbedder(e Embedder, meter *Meter) Embedder {
	return EmbedFunc(func(ctx context.Context, r EmbedRequest) (Embeddings, error) {
		price, left, err := meter.begin(r.Model)
		if err != nil {
			return Embeddings{}, err
		}
		own, cancel := meter.bound(ctx, left)
		defer cancel()
		begun := time.Now()
		got, err := e.Embed(own, r)
		if err = meter.outOfTime(ctx, own, begun, err); err != nil {
			meter.Add(Spend{Time: time.Since(begun)})
			return Embeddings{}, err
		}
		u := got.Usage
		if !got.Counted {
			u.Input = meter.tokens(r.Texts)
		}
		meter.Add(Spend{Input: u.Input, Money: price.Of(u), Time: time.Since(begun)})
		return got, nil
	})
}

// tokens counts the tokens of texts that the provider did not count.
func (m *Meter) tokens(texts []string) (n int) {
	var by message.Counter = message.Estimate{}
	if m.Counter != nil {
		by = m.Counter
	}
	for _, text := range texts {
		k, _ := by.Count(message.User(text))
		n += k
	}
	return n
}
