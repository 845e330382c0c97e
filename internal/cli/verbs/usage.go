package verbs

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weftrun/weft/capabilities/budget"
	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/internal/cli/reports"
)

// usageFlags are the flags of usage.
type usageFlags struct {
	by, from, until, name, prune string
}

func (a *app) usageVerb() *cobra.Command {
	var f usageFlags
	cmd := &cobra.Command{
		Use:   "usage",
		Short: "Show what models have spent, and the budgets",
		Long: `Usage shows what the models under budgets have spent, in the store: calls, tokens and
money. LOST is what calls reserved whose processes died, OPEN what running calls reserve.

--by limit shows each budget and its key instead: what is spent of it in this period.`,
		Args: a.arguments("", 0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.prune != "" {
				for _, name := range []string{"by", "from", "until"} {
					if cmd.Flags().Changed(name) {
						return reports.Usage("leave one of them out", "--prune removes, and --%s selects what is shown", name)
					}
				}
				return a.pruneUsage(cmd.Context(), f)
			}
			return a.withDocuments(cmd.Context(), func(_ checkpoint.Store, docs document.Store) error {
				return a.usage(cmd.Context(), docs, f)
			})
		},
	}
	cmd.Flags().StringVar(&f.by, "by", "model", "what to add up: model, thread, day, limit, or a key of the metadata that a budget is by")
	cmd.Flags().StringVar(&f.from, "from", "", "only from this DAY on, such as 2026-05-01 (UTC)")
	cmd.Flags().StringVar(&f.until, "until", "", "only before this DAY")
	cmd.Flags().StringVar(&f.prune, "prune", "", "remove what was spent before this DAY, and the counts of periods that ended before it")
	cmd.Flags().StringVar(&f.name, "name", "", "the Config.Name of a program in Go")
	return cmd
}

func (a *app) usage(ctx context.Context, docs document.Store, f usageFlags) error {
	var of budget.Range
	for _, d := range []struct {
		flag, text string
		at         *time.Time
	}{{"--from", f.from, &of.From}, {"--until", f.until, &of.Until}} {
		if d.text == "" {
			continue
		}
		var err error
		if *d.at, err = parseDay(d.flag, d.text); err != nil {
			return err
		}
	}
	l, err := budget.Over(docs, budget.Config{Name: f.name})
	if err != nil {
		return err
	}
	if f.by == "limit" {
		return a.usageOfLimits(ctx, l, of)
	}
	records, err := l.Usage(ctx, of)
	if err != nil {
		return err
	}
	t := a.Table(strings.ToUpper(f.by), "CALLS", "INPUT", "OUTPUT", "MONEY", "LOST", "OPEN")
	for _, sum := range budget.Sum(records, keyOfRecord(f.by)) {
		err := t.Add(sum, sum.Key, sum.Calls, sum.Input, sum.Output, sum.Money, moneyAndCalls(sum.Lost), moneyAndCalls(sum.Reserved))
		if err != nil {
			return err
		}
	}
	return t.Flush()
}

// parseDay reads the day of a flag.
func parseDay(flag, text string) (time.Time, error) {
	at, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return at, reports.Usage("write "+flag+" 2026-05-01", "%s must be a day (got %q)", flag, text)
	}
	return at, nil
}

// pruneUsage removes what is old.
func (a *app) pruneUsage(ctx context.Context, f usageFlags) error {
	before, err := parseDay("--prune", f.prune)
	if err != nil {
		return err
	}
	return withStore(ctx, a.open, func(store checkpoint.Store) error {
		docs, err := a.documents(ctx, store)
		if err != nil {
			return err
		}
		l, err := budget.Over(docs, budget.Config{Name: f.name})
		if err != nil {
			return err
		}
		n, err := l.Prune(ctx, before)
		if err != nil {
			return err
		}
		if a.JSON {
			return a.PrintJSON(map[string]int{"removed": n})
		}
		_, err = fmt.Fprintf(a.Stdout, "removed %d\n", n)
		return err
	})
}

// keyOfRecord returns what records are added up by.
func keyOfRecord(by string) func(budget.Record) string {
	switch by {
	case "model":
		return func(r budget.Record) string { return r.Model }
	case "thread":
		return func(r budget.Record) string { return r.Thread }
	case "day":
		return func(r budget.Record) string { return r.Day }
	}
	return func(r budget.Record) string { return r.Metadata[by] }
}

// moneyAndCalls describes an amount that is not certain; "" is none.
func moneyAndCalls(a budget.Amount) string {
	if a == (budget.Amount{}) {
		return ""
	}
	return fmt.Sprintf("%s (%d)", a.Money, a.Calls)
}

// usageOfLimits shows the budgets.
func (a *app) usageOfLimits(ctx context.Context, l *budget.Limiter, of budget.Range) error {
	if of != (budget.Range{}) {
		return reports.Usage("leave out --from and --until", "a limit counts its own period")
	}
	accounts, err := l.Accounts(ctx)
	if err != nil {
		return err
	}
	t := a.Table("LIMIT", "KEY", "PERIOD", "SPENT", "OPEN", "OF", "RUNNING")
	for _, c := range accounts {
		what := budget.Calls
		switch {
		case c.Most.Money > 0:
			what = budget.Spending
		case c.Most.Tokens > 0:
			what = budget.Tokens
		}
		most := ""
		if c.Most != (budget.Amount{}) {
			most = c.Most.Text(what)
		}
		if err := t.Add(c, c.Limit, c.Key, cmp.Or(c.Period, "all"), c.Spent.Text(what), c.Reserved.Text(what), most, c.Running); err != nil {
			return err
		}
	}
	return t.Flush()
}
