package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/weftrun/weft/capabilities"
)

// Measurement is a quantity that was measured every day.
type Measurement struct {
	Name  string `json:"name"`
	Unit  string `json:"unit"`
	About string `json:"about"`
	Mean  bool   `json:"mean,omitempty"` // whether a month has the mean and not the total
}

// catalog has all measurements, and words the words for each.
var (
	catalog = []Measurement{
		{Name: "precipitation", Unit: "mm", About: "rain and melted snow of the day"},
		{Name: "rain_days", Unit: "days", About: "1 where the day is labelled rain, else 0"},
		{Name: "temp_max", Unit: "°C", About: "highest temperature of the day", Mean: true},
		{Name: "temp_min", Unit: "°C", About: "lowest temperature of the day", Mean: true},
		{Name: "wind", Unit: "m/s", About: "mean speed of the wind of the day", Mean: true},
	}
	words = map[string][]string{
		"precipitation": {"rain", "precipitation", "snow", "wet"},
		"rain_days":     {"rain", "rainy"},
		"temp_max":      {"temperature", "temperatures", "warm", "hot", "heat"},
		"temp_min":      {"temperature", "temperatures", "cold", "frost"},
		"wind":          {"wind", "windy", "storm"},
	}
)

// Measurements is a selection of the catalog.
type Measurements struct {
	List []Measurement `json:"list"`
}

func (Measurements) ContextType() string { return "MEASUREMENTS" }

func (m Measurements) Summary(string) any {
	lines := []string{"These measurements fit, one value for each day from 2012 to 2015:"}
	for _, one := range m.List {
		lines = append(lines, fmt.Sprintf("- %s (%s): %s", one.Name, one.Unit, one.About))
	}
	return strings.Join(lines, "\n")
}

// find looks up the measurements that a step names.
var find = capabilities.Func(capabilities.Info{
	Name: "find_measurements", Description: "finds the measurements that words such as rain or temperature mean",
	Provides: []string{"MEASUREMENTS"},
	Plan:     &capabilities.PlanGuide{Instructions: "The objective names what is looked for, such as rain.", Priority: 1},
	Match:    &capabilities.MatchGuide{Instructions: "When the task names something that is measured, and does not only refer to what was found before."},
}, func(_ context.Context, c *capabilities.Call) error {
	about := tokens(asked(c))
	var found Measurements
	for _, m := range catalog {
		if hits(about, append(words[m.Name], m.Name)...) {
			found.List = append(found.List, m)
		}
	}
	if len(found.List) == 0 && hits(about, "measurements", "measurement", "data") {
		found.List = slices.Clone(catalog)
	}
	if len(found.List) == 0 {
		return fmt.Errorf("nothing is measured that fits %q", asked(c))
	}
	return c.Store(found)
})
