package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/weftrun/weft/capabilities"
	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/nodes/turn"
	"github.com/weftrun/weft/state/agent"
)

// Station, Rain and Chart are what the agent can know: contexts, each of a type.
type (
	Station struct {
		Name string `json:"name"`
	}
	Rain struct {
		Year string  `json:"year"`
		MM   float64 `json:"mm"`
	}
	Chart struct {
		Text string `json:"text"`
	}
)

func (Station) ContextType() string { return "STATION" }
func (Rain) ContextType() string    { return "RAIN" }
func (Chart) ContextType() string   { return "CHART" }

var find = capabilities.Func(capabilities.Info{
	Name: "find", Description: "finds the station", Provides: []string{"STATION"},
}, func(_ context.Context, c *capabilities.Call) error { return c.Store(Station{"Seattle"}) })

var read = capabilities.Func(capabilities.Info{
	Name: "read", Description: "reads the rain of a year", Requires: []string{"STATION"}, Provides: []string{"RAIN"},
}, func(_ context.Context, c *capabilities.Call) error {
	_, err := agent.Input[Station](c.Contexts(), c.Step) // of this turn, or of an earlier one
	if err != nil {
		return err
	}
	year := yearIn(c.State)
	return c.Store(Rain{year, rainIn(year)})
})

var draw = capabilities.Func(capabilities.Info{
	Name: "draw", Description: "draws the rain", Requires: []string{"RAIN"}, Provides: []string{"CHART"},
}, func(_ context.Context, c *capabilities.Call) error {
	rain, err := agent.Input[Rain](c.Contexts(), c.Step)
	if err != nil {
		return err
	}
	return c.Store(Chart{fmt.Sprintf("%s %s", rain.Year, strings.Repeat("#", int(rain.MM/100)))})
})

// rain returns the agent: its capabilities, the types of what it knows, and its graph.
func rain(store checkpoint.Store) (*graph.Graph[agent.State], agent.StateManager, error) {
	registry, err := capabilities.NewRegistry(find, read, draw)
	types, typesErr := agent.NewTypes(agent.TypeOf[Station](), agent.TypeOf[Rain](), agent.TypeOf[Chart]())
	manager := agent.StateManager{Types: types, Clock: time.Now}
	g, graphErr := turn.Graph("rain", turn.Config{Manager: manager, Capabilities: registry, Match: named}, graph.Config{Store: store})
	return g, manager, errors.Join(err, typesErr, graphErr)
}

// named reports whether the task names the capability.
func named(_ context.Context, r turn.MatchRequest) (bool, error) {
	return strings.Contains(r.Task, r.Capability.Name), nil
}

// rainOf is the rain of Seattle by year, in millimetres.
var rainOf = map[string]float64{"2012": 1226, "2013": 828, "2014": 1232.8, "2015": 1139.2}

func rainIn(year string) float64 {
	mayCrash("read")
	return rainOf[year]
}

func yearIn(s *agent.State) string {
	task, _ := s.Task.Current.Lookup()
	for year := range rainOf {
		if strings.Contains(task, year) {
			return year
		}
	}
	return "2015"
}

// crash is the capability in which the process is killed, as by kill -9.
var crash string

func mayCrash(capability string) {
	if self, err := os.FindProcess(os.Getpid()); err == nil && crash == capability {
		_ = self.Kill()
		select {}
	}
}
