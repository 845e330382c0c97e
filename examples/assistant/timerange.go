package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/weftrun/weft/capabilities"
)

// Range is a time range from the first day to the last, both included.
type Range struct {
	From string `json:"from"` // 2013-01-01
	To   string `json:"to"`
	Name string `json:"name"` // 2013, or March 2013
}

func (Range) ContextType() string { return "TIME_RANGE" }

func (r Range) Summary(string) any { return fmt.Sprintf("%s (%s to %s)", r.Name, r.From, r.To) }

// The years of the data.
const firstYear, lastYear = 2012, 2015

// timeRange reads a year, or a month and a year.
var timeRange = capabilities.Func(capabilities.Info{
	Name: "parse_time_range", Description: "reads which days are meant, such as 2013 or March 2013",
	Provides: []string{"TIME_RANGE"},
	Plan:     &capabilities.PlanGuide{Instructions: "The objective holds the year, and the month if one is meant.", Priority: 2},
	Match:    &capabilities.MatchGuide{Instructions: "When the task names a time."},
}, func(_ context.Context, c *capabilities.Call) error {
	r, err := parseRange(asked(c))
	if err != nil {
		return err
	}
	return c.Store(r)
})

func parseRange(text string) (Range, error) {
	year, month := 0, time.Month(0)
	for _, word := range tokens(text) {
		if y, ok := yearOf(word); ok {
			year = y
		}
		if m, ok := monthOf(word); ok {
			month = m
		}
	}
	switch {
	case year == 0:
		return Range{}, fmt.Errorf("no year is in %q", text)
	case year < firstYear || year > lastYear:
		return Range{}, fmt.Errorf("there are data from %d to %d, not of %d", firstYear, lastYear, year)
	}
	from, to, name := time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(year, 12, 31, 0, 0, 0, 0, time.UTC), fmt.Sprint(year)
	if month != 0 {
		from = time.Date(year, month, 1, 0, 0, 0, 0, time.UTC)
		to, name = from.AddDate(0, 1, -1), fmt.Sprintf("%v %d", month, year)
	}
	return Range{from.Format(time.DateOnly), to.Format(time.DateOnly), name}, nil
}

func yearOf(word string) (int, bool) {
	t, err := time.Parse("2006", word)
	return t.Year(), err == nil
}

func monthOf(word string) (time.Month, bool) {
	for m := time.January; m <= time.December; m++ {
		if strings.EqualFold(word, m.String()) {
			return m, true
		}
	}
	return 0, false
}
