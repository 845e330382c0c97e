package main

import (
	"context"
	"fmt"
)

// growth is the loop without a store at sizes that are far apart, for what grows with a run.
func growth(turns int) Workload {
	return Workload{Name: fmt.Sprintf("growth: %d steps in one run", 2*turns), Unit: "step", Units: 2 * turns, Runners: []Runner{
		{floor, func(context.Context) (Job, error) { return floorLoop(turns) }},
		{weft, func(context.Context) (Job, error) { return weftLoop(turns) }},
	}}
}

// growths are runs and crowds whose sizes are far apart.
func (p *place) growths() (all []Workload) {
	steps, threads := []int{5, 500, 500_000}, []int{10, 1000, 10_000}
	if p.short {
		steps, threads = steps[:2], threads[:1]
	}
	for _, n := range steps {
		all = append(all, growth(n))
	}
	for _, g := range p.stores {
		for _, n := range threads {
			if g.name == "memory" || g.name == "Redis" {
				w := crowd(n, 10, g)
				w.Name = "growth: " + w.Name
				all = append(all, w)
			}
		}
	}
	return all
}
