package main

import (
	"context"
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"

	"github.com/weftrun/weft/capabilities"
	"github.com/weftrun/weft/examples/weather"
	"github.com/weftrun/weft/state/agent"
)

// Series has the daily values of several measurements.
type Series struct {
	Name         string        `json:"name"` // of the time range
	Measurements []Measurement `json:"measurements"`
	Days         []string      `json:"days"`
	Values       [][]float64   `json:"values"` // by day, then as Measurements
}

func (Series) ContextType() string { return "SERIES" }

func (s Series) Summary(string) any {
	return fmt.Sprintf("%d days of %s for %s", len(s.Days), names(s.Measurements), s.Name)
}

// retrieve reads the days of a time range from the file.
var retrieve = capabilities.Func(capabilities.Info{
	Name: "retrieve", Description: "reads the daily values of measurements for a time",
	Requires: []string{"MEASUREMENTS", "TIME_RANGE"}, Provides: []string{"SERIES"},
	Plan:  &capabilities.PlanGuide{Instructions: "Its inputs are measurements and a time, of this turn or an earlier one.", Priority: 3},
	Match: &capabilities.MatchGuide{Instructions: "When the task needs values that were not read before."},
}, func(_ context.Context, c *capabilities.Call) error {
	which, err := agent.Input[Measurements](c.Contexts(), c.Step)
	if err != nil {
		return err
	}
	when, err := agent.Input[Range](c.Contexts(), c.Step)
	if err != nil {
		return err
	}
	s, err := read(which.List, when)
	if err != nil {
		return err
	}
	return c.Store(s)
})

func read(which []Measurement, when Range) (Series, error) {
	s := Series{Name: when.Name, Measurements: which}
	lines, err := csv.NewReader(strings.NewReader(weather.CSV)).ReadAll()
	if err != nil {
		return s, err
	}
	for _, l := range lines[1:] {
		if l[0] < when.From || l[0] > when.To {
			continue
		}
		day := make([]float64, len(which))
		for i, m := range which {
			if day[i], err = value(l, m.Name); err != nil {
				return s, fmt.Errorf("%s of %s: %w", m.Name, l[0], err)
			}
		}
		s.Days, s.Values = append(s.Days, l[0]), append(s.Values, day)
	}
	return s, nil
}

// value returns a measurement of a line: date,precipitation,temp_max,temp_min,wind,weather.
func value(line []string, name string) (float64, error) {
	if name == "rain_days" {
		if line[5] == "rain" {
			return 1, nil
		}
		return 0, nil
	}
	at, ok := map[string]int{"precipitation": 1, "temp_max": 2, "temp_min": 3, "wind": 4}[name]
	if !ok {
		return 0, fmt.Errorf("it is not measured")
	}
	return strconv.ParseFloat(line[at], 64)
}

func names(all []Measurement) string {
	list := make([]string, len(all))
	for i, m := range all {
		list[i] = m.Name
	}
	return strings.Join(list, " and ")
}
