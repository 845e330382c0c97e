package nodes

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/weftrun/weft/capabilities/budget"
	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/capabilities/recording"
	"github.com/weftrun/weft/graph/workflow"
)

// BudgetEntry is an entry of the section budgets of a file: a [budget.Limit] on the calls of the
// file's models. What is spent is counted in the store of the run.
//
//	budgets:
//	  month: {by: metadata.tenant, per: month, money: 50.00, currency: EUR, raise: {money: 5.00}}
//	  pace: {by: model, rate: 60/m, concurrency: 4}
type BudgetEntry struct {
	// By is what the budget holds for each of: thread, model, or metadata.NAME; "" is all calls
	// together.
	By string `json:"by,omitempty"`
	// Models are the models to whose calls it applies; without it all.
	Models []string `json:"models,omitempty"`
	// Calls, Tokens and Money are what may be spent in each Per; 0 is no limit.
	Calls  int          `json:"calls,omitempty"`
	Tokens int          `json:"tokens,omitempty"`
	Money  budget.Money `json:"money,omitempty"`
	// Currency is that of all amounts of money.
	Currency string `json:"currency,omitempty"`
	// Per is hour, day or month; "" counts for ever.
	Per string `json:"per,omitempty"`
	// Rate is how many calls may begin, such as 60/m. Burst is how many of them at once.
	Rate  Rate `json:"rate,omitzero"`
	Burst int  `json:"burst,omitempty"`
	// Concurrency is how many calls may run at once; 0 is no limit.
	Concurrency int `json:"concurrency,omitempty"`
	// Raise is by how much a person may raise the budget, who is asked when it is spent.
	Raise RaiseEntry `json:"raise,omitzero"`
	// To is who is asked; "" is anybody.
	To string `json:"to,omitempty"`

	once    sync.Once // of the first entry of a file
	limiter *budget.Limiter
	err     error
}

// RaiseEntry is by how much a person may raise a budget.
type RaiseEntry struct {
	Calls  int          `json:"calls,omitempty"`
	Tokens int          `json:"tokens,omitempty"`
	Money  budget.Money `json:"money,omitempty"`
}

// Rate is how many calls may begin in a time. Its text is 10/s, 60/m, 1000/h or 5/30s.
type Rate struct {
	Calls int
	Per   time.Duration
}

// UnmarshalJSON reads the text.
func (r *Rate) UnmarshalJSON(data []byte) error {
	var s string
	if err := json.Unmarshal(data, &s); err != nil {
		return fmt.Errorf("the rate must be a text such as 60/m (got %s)", data)
	}
	calls, per, _ := strings.Cut(s, "/")
	n, err := strconv.Atoi(calls)
	if slices.Contains([]string{"s", "m", "h"}, per) {
		per = "1" + per
	}
	d, perr := time.ParseDuration(per)
	if err != nil || perr != nil || n <= 0 || d <= 0 {
		return fmt.Errorf("the rate must be a text such as 10/s, 60/m or 5/30s (got %q)", s)
	}
	*r = Rate{n, d}
	return nil
}

// ParamSchema implements [workflow.Described].
func (Rate) ParamSchema() map[string]any {
	return map[string]any{"type": "string", "pattern": `^\+?0*[1-9][0-9]*/[-+0-9.a-zµμ]+$`, "$comment": "a rate such as 60/m"}
}

// PriceEntry is an entry of the section prices of a file: the price of a million tokens of the
// model with its name.
//
//	prices:
//	  small: {input: 0.25, output: 2.00}
type PriceEntry struct {
	Input  budget.Money `json:"input"`
	Output budget.Money `json:"output"`
	// Cached is the price of input from the provider's cache; 0 is Input.
	Cached budget.Money `json:"cached,omitempty"`
}

// budgetsSection returns the section budgets.
func budgetsSection() workflow.Section {
	return workflow.Section{
		About: "limits of what the models spend, in all processes of a store, by name",
		New:   func() workflow.Entry { return new(BudgetEntry) },
		Params: map[string]string{
			"by":          "what it holds for each of: thread, model, or metadata.NAME; by default all calls together",
			"models":      "the models to whose calls it applies; by default all",
			"calls":       "how many calls may be made in the period",
			"tokens":      "how many tokens may be spent in the period, of requests and answers together",
			"money":       "how much may be spent in the period; see prices",
			"currency":    "the currency of all amounts, which is shown",
			"per":         "the period, in UTC; by default it never ends",
			"rate":        "how many calls may begin, such as 10/s, 60/m or 5/30s",
			"burst":       "how many calls of the rate may begin at once; by default all of them",
			"concurrency": "how many calls may run at once",
			"raise":       "by how much a person may raise it, who is asked when it is spent",
			"to":          "who is asked",
		},
		Choices: map[string][]string{"per": {"hour", "day", "month"}},
	}
}

// pricesSection returns the section prices.
func pricesSection() workflow.Section {
	return workflow.Section{
		About: "the prices of a million tokens of the models, by the name of the model",
		New:   func() workflow.Entry { return new(PriceEntry) },
		Params: map[string]string{
			"input":  "the price of a million tokens of requests",
			"output": "the price of a million tokens of answers",
			"cached": "that of requests from the cache of the provider; by default that of input",
		},
	}
}

// limit returns the entry as a limit.
func (b *BudgetEntry) limit(name string) budget.Limit {
	return budget.Limit{
		Name: name, By: b.By, Models: b.Models, Per: budget.Period(b.Per), To: b.To, Concurrency: b.Concurrency,
		Most:  budget.Amount{Calls: int64(b.Calls), Tokens: int64(b.Tokens), Money: b.Money},
		Rate:  budget.Rate{Calls: b.Rate.Calls, Per: b.Rate.Per, Burst: b.Burst},
		Raise: budget.Amount{Calls: int64(b.Raise.Calls), Tokens: int64(b.Raise.Tokens), Money: b.Raise.Money},
	}
}

// Check refuses a budget that bounds nothing.
func (b *BudgetEntry) Check(func(string) bool) error {
	if err := b.limit("budget").Check(); err != nil {
		return &refusal{strings.ReplaceAll(err.Error(), `budget: invalid configuration: limit "budget": `, "")}
	}
	return nil
}

// Open returns the entry.
func (b *BudgetEntry) Open(string, workflow.Env) (any, error) { return b, nil }

// CheckEnv finds nothing missing.
func (b *BudgetEntry) CheckEnv(workflow.Env) error { return nil }

// Check refuses a negative price.
func (p *PriceEntry) Check(func(string) bool) error {
	if min(p.Input, p.Output, p.Cached) < 0 {
		return &refusal{"a price must not be negative"}
	}
	return nil
}

// Open returns the price.
func (p *PriceEntry) Open(string, workflow.Env) (any, error) {
	return budget.Price{Input: p.Input, Output: p.Output, Cached: p.Cached}, nil
}

// CheckEnv finds nothing missing.
func (p *PriceEntry) CheckEnv(workflow.Env) error { return nil }

// limited returns a model within the budgets of the file, whose calls a test can record.
func (p Program) limited(name string, m model.Model) (model.Model, error) {
	m = recording.Model(name, m)
	names := p.declared.Names(budgetsName)
	if len(names) == 0 {
		return m, nil
	}
	entries := make([]*BudgetEntry, len(names))
	for i, name := range names {
		v, _, err := p.declared.Open(budgetsName, name)
		if err != nil {
			return nil, err
		}
		entries[i] = v.(*BudgetEntry)
	}
	first := entries[0]
	first.once.Do(func() { first.limiter, first.err = p.limiter(names, entries) })
	if first.err != nil {
		return nil, first.err
	}
	if !slices.Contains(p.declared.Names(pricesName), name) {
		for i, b := range entries {
			if b.Money > 0 && (b.Models == nil || slices.Contains(b.Models, name)) {
				return nil, &refusal{fmt.Sprintf("budgets.%s limits money, and prices has no model %s", names[i], name)}
			}
		}
	}
	return first.limiter.Model(name, m), nil
}

// limiter returns the limiter of the budgets of a file.
func (p Program) limiter(names []string, entries []*BudgetEntry) (*budget.Limiter, error) {
	c := budget.Config{Prices: budget.Prices{}}
	var errs []error
	for i, b := range entries {
		c.Limits = append(c.Limits, b.limit(names[i]))
		for _, m := range b.Models {
			if _, program := p.Models[m]; !program && !slices.Contains(p.declared.Names(modelsName), m) {
				errs = append(errs, &refusal{fmt.Sprintf("budgets.%s: there is no model %q", names[i], m)})
			}
		}
		if b.Currency != "" && c.Currency != "" && b.Currency != c.Currency {
			errs = append(errs, &refusal{fmt.Sprintf("budgets.%s: all budgets must have one currency (got %s and %s)", names[i], c.Currency, b.Currency)})
		}
		if b.Currency != "" {
			c.Currency = b.Currency
		}
	}
	for _, name := range p.declared.Names(pricesName) {
		v, _, err := p.declared.Open(pricesName, name)
		if err != nil {
			return nil, err
		}
		c.Prices[name] = v.(budget.Price)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return budget.OfRun(c)
}

var (
	_ workflow.Entry   = (*BudgetEntry)(nil)
	_ workflow.Checker = (*BudgetEntry)(nil)
	_ workflow.Entry   = (*PriceEntry)(nil)
	_ workflow.Checker = (*PriceEntry)(nil)
)
