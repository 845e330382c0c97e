package budget

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state/message"
)

// Model returns a model whose calls are limited. Limits and prices know it by the name, whatever
// Request.Model is; "" uses Request.Model. A call outside a run has no thread, and a limit fails it
// where it would ask.
//
// Around a model.Fallback all its models count as one; limit each of them instead.
func (l *Limiter) Model(name string, m model.Model) model.Model {
	return model.Func(func(ctx context.Context, r model.Request) iter.Seq2[model.Chunk, error] {
		return func(yield func(model.Chunk, error) bool) {
			known := name
			if known == "" {
				known = r.Model
			}
			if err := l.stream(ctx, known, m, r, yield); err != nil {
				yield(model.Chunk{}, err)
			}
		}
	})
}

// stream makes a call. It returns an error if the call was not made.
func (l *Limiter) stream(ctx context.Context, name string, m model.Model, r model.Request, yield func(model.Chunk, error) bool) error {
	price, priced := l.config.Prices.of(name)
	if !priced && l.limitsMoney(name) {
		return fmt.Errorf("%w: for %q", ErrNoPrice, name)
	}
	want, err := l.estimate(r, price)
	if err != nil {
		return err
	}
	held, err := l.obtain(ctx, name, want)
	if err != nil {
		return err
	}
	meter := &model.Meter{Counter: l.config.Counter}
	var reported *message.Usage
	billed := true
	defer func() {
		u := message.Usage{Input: meter.Spent().Input, Output: meter.Spent().Output}
		switch {
		case !billed:
			u = message.Usage{}
		case reported != nil:
			u = *reported
		}
		if err := held.Settle(ctx, Spent{int64(u.Input), int64(u.Output), price.Of(u)}); err != nil {
			l.config.Log.Warn("budget: settle a call, whose reservation counts as spent", "model", name, "error", err)
		}
	}()
	answered := false
	model.Limited(m, meter).Stream(ctx, r)(func(c model.Chunk, err error) bool {
		if c.Usage != nil {
			reported = c.Usage
		}
		answered = answered || err == nil
		billed = err == nil || answered || !refusedBefore(err)
		return yield(c, err)
	})
	return nil
}

// refusedBefore reports whether a provider has refused a call before it did anything.
func refusedBefore(err error) bool {
	switch model.KindOf(err) {
	case model.RateLimited, model.Overloaded, model.Unreachable, model.ContextTooLong, model.Invalid, model.Auth, model.Quota:
		return true
	}
	return false
}

// limitsMoney reports whether a limit of money applies to a model.
func (l *Limiter) limitsMoney(name string) bool {
	for i := range l.config.Limits {
		if limit := &l.config.Limits[i]; limit.Most.Money > 0 && limit.applies(name) {
			return true
		}
	}
	return false
}

// estimate returns what a call may cost at most.
func (l *Limiter) estimate(r model.Request, price Price) (Amount, error) {
	input, err := message.Total(l.config.Counter, r.Messages)
	if err != nil {
		return Amount{}, fmt.Errorf("budget: %w", err)
	}
	for _, t := range r.Tools {
		input += message.ApproxTokens(t.Name + t.Description + string(t.Schema))
	}
	output := r.MaxTokens
	if output == 0 {
		output = l.config.Answer
	}
	return Amount{Calls: 1, Tokens: int64(input) + int64(output), Money: price.Of(message.Usage{Input: input, Output: output})}, nil
}

// obtain reserves an amount, and asks a person where a limit can be raised.
func (l *Limiter) obtain(ctx context.Context, name string, want Amount) (*Reservation, error) {
	for {
		r, err := l.Reserve(ctx, name, want)
		var refused *refusal
		if !errors.As(err, &refused) {
			return r, err
		}
		limit := l.limit(refused.err.Limit)
		if amount := refused.err.What; !slices.Contains(amounts, amount) || limit.Raise.part(amount) == 0 || graph.TaskID(ctx) == "" {
			return nil, refused.err
		}
		yes, err := graph.Ask[bool](ctx, l.question(limit, refused))
		if err != nil {
			return nil, err
		}
		if !yes {
			refused.err.Declined = true
			return nil, graph.Permanent(refused.err)
		}
		if err := l.raise(ctx, refused, limit); err != nil {
			return nil, err
		}
	}
}

// limit returns a limit by its name.
func (l *Limiter) limit(name string) *Limit {
	for i := range l.config.Limits {
		if l.config.Limits[i].Name == name {
			return &l.config.Limits[i]
		}
	}
	return nil
}

// question asks to raise a limit. Its key names the state of the account, so that one answer raises
// the limit once.
func (l *Limiter) question(limit *Limit, refused *refusal) graph.Question {
	e, of := refused.err, limit.Name
	if e.Key != "" {
		of += " of " + e.Key
	}
	detail := fmt.Sprintf("Limit %s: %s spent and %s reserved of %s.", of, e.Spent.only(e.What, ""), e.Reserved.only(e.What, ""), e.Most.only(e.What, e.Currency))
	if refused.window != "" {
		detail += fmt.Sprintf(" The %s is %s (UTC).", limit.Per, refused.window)
	}
	var more []string
	for _, w := range amounts {
		if limit.Raise.part(w) > 0 {
			more = append(more, limit.Raise.only(w, l.config.Currency))
		}
	}
	verb := "Spend"
	if limit.Raise.Money == 0 {
		verb = "Allow"
	}
	return graph.Question{
		Prompt: fmt.Sprintf("%s %s more?", verb, strings.Join(more, " and ")), Detail: detail, To: limit.To,
		Key: "budget " + digest(e.Limit, e.Key, refused.window, strconv.Itoa(refused.raises)),
	}
}
