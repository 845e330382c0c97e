package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/weftrun/weft/capabilities"
	"github.com/weftrun/weft/state/agent"
)

// Table has a value for each period and column.
type Table struct {
	Title   string   `json:"title"`
	Columns []string `json:"columns"` // with their units
	Rows    []Row    `json:"rows"`
}

// Row is one period.
type Row struct {
	Period string    `json:"period"` // 2013-01, or 2013
	Values []float64 `json:"values"` // as Columns
}

func (Table) ContextType() string { return "TABLE" }

func (t Table) Summary(string) any {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n| period | %s |\n|---%s|\n", t.Title, strings.Join(t.Columns, " | "), strings.Repeat("|---:", len(t.Columns)))
	for _, r := range t.Rows {
		b.WriteString("| " + r.Period)
		for _, v := range r.Values {
			fmt.Fprintf(&b, " | %.1f", v)
		}
		b.WriteString(" |\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// analyse aggregates days by month or by year.
var analyse = capabilities.Func(capabilities.Info{
	Name: "analyse", Description: "makes a table of daily values: totals, or means of temperatures and wind, by month or by year",
	Requires: []string{"SERIES"}, Provides: []string{"TABLE"},
	Plan:  &capabilities.PlanGuide{Instructions: "The objective contains yearly for values by year. Otherwise they are by month.", Priority: 4},
	Match: &capabilities.MatchGuide{Instructions: "When the task wants totals, means, or a comparison of times."},
}, func(_ context.Context, c *capabilities.Call) error {
	s, err := agent.Input[Series](c.Contexts(), c.Step)
	if err != nil {
		return err
	}
	return c.Store(tabulate(s, hits(tokens(asked(c)), "yearly", "annual", "annually")))
})

func tabulate(s Series, yearly bool) Table {
	every, period := "Monthly", len("2013-01")
	if yearly {
		every, period = "Yearly", len("2013")
	}
	t := Table{Title: fmt.Sprintf("%s %s, %s", every, names(s.Measurements), s.Name)}
	for _, m := range s.Measurements {
		t.Columns = append(t.Columns, fmt.Sprintf("%s (%s)", m.Name, m.Unit))
	}
	var days []float64 // of each row
	for i, day := range s.Days {
		if n := len(t.Rows); n == 0 || t.Rows[n-1].Period != day[:period] {
			t.Rows = append(t.Rows, Row{day[:period], make([]float64, len(t.Columns))})
			days = append(days, 0)
		}
		last := len(t.Rows) - 1
		days[last]++
		for j, v := range s.Values[i] {
			t.Rows[last].Values[j] += v
		}
	}
	for i := range t.Rows {
		for j, m := range s.Measurements {
			if m.Mean {
				t.Rows[i].Values[j] /= days[i]
			}
		}
	}
	return t
}
