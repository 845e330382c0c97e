package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/weftrun/weft/capabilities"
)

// Forecast is the context that the capability stores. Later turns can use it.
type Forecast struct {
	City    string `json:"city"`
	Celsius int    `json:"celsius"`
}

func (Forecast) ContextType() string { return "FORECAST" }

func (f Forecast) Summary(string) any { return fmt.Sprintf("%s: %d °C", f.City, f.Celsius) }

var known = []Forecast{{"Seattle", 14}, {"Oslo", 3}}

// forecast looks up the city that the task names.
var forecast = capabilities.Func(capabilities.Info{
	Name: "forecast", Description: "reports the temperature in a city", Provides: []string{"FORECAST"},
}, func(_ context.Context, c *capabilities.Call) error {
	task, _ := c.State.Task.Current.Lookup()
	for _, f := range known {
		if strings.Contains(strings.ToLower(task), strings.ToLower(f.City)) {
			return c.Store(f)
		}
	}
	return fmt.Errorf("no city that I know is in %q", task)
})
