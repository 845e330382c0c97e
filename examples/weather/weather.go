package weather

import (
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
)

// Day is a line of the CSV file.
type Day struct {
	Date          string
	Precipitation float64 // mm
	Max, Min      float64 // °C
	Weather       string  // sun, rain, drizzle, fog or snow
}

// Month is one row of the report.
type Month struct {
	Month   string // 2012-01
	Days    int
	Mean    float64
	Rain    float64
	Weather map[string]int // how many days of each kind
}

// State is the state of a run.
type State struct {
	Days    state.Value[[]Day]    `json:"days"`
	Years   state.Value[[]string] `json:"years"`
	Months  state.List[Month]     `json:"months"`
	Hottest state.Value[Day]      `json:"hottest"`
	Coldest state.Value[Day]      `json:"coldest"`
	Wettest state.Value[Day]      `json:"wettest"`
	Pages   state.List[string]    `json:"pages"`
	Report  state.Value[string]   `json:"report"`
	Outcome state.Value[string]   `json:"outcome"`
}

// Graph returns the graph over the CSV file in folder. A report that was approved is
// written to report.md in out.
func Graph(folder, out string, cfg graph.Config) (*graph.Graph[State], error) {
	b := graph.New[State]("weather-report")
	b.Node("read", graph.Func(readFrom(filepath.Join(folder, "seattle-weather.csv"))))
	b.Node("years", graph.Router(years, "month", "records"))
	b.Node("month", graph.Worker(month))
	b.Node("pages", graph.Router(pages, "page"))
	b.Node("page", graph.Worker(page))
	b.Node("records", graph.Func(records))
	b.Node("compose", graph.Func(compose))
	b.Node("approve", graph.Router(approve, "publish", "decline"))
	b.Node("publish", graph.Func(publishTo(out)))
	b.Node("decline", graph.Func(decline))

	b.Edge(graph.Start, "read")
	b.Edge("read", "years")
	b.Edge("month", "pages")
	b.Join("compose", "page", "records")
	b.Edge("compose", "approve")
	b.Edge("publish", graph.End)
	b.Edge("decline", graph.End)
	return b.Compile(cfg)
}

func readFrom(path string) func(context.Context, *State) error {
	return func(_ context.Context, s *State) error {
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		lines, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
		if err != nil {
			return err
		}
		var days []Day
		for _, l := range lines[1:] { // date,precipitation,temp_max,temp_min,wind,weather
			d := Day{Date: l[0], Weather: l[5]}
			for i, to := range []*float64{&d.Precipitation, &d.Max, &d.Min} {
				if *to, err = strconv.ParseFloat(l[i+1], 64); err != nil {
					return err
				}
			}
			days = append(days, d)
		}
		s.Days.Set(days)
		return nil
	}
}

// years sends a task for each year, and the records beside them.
func years(_ context.Context, s *State) (graph.Command, error) {
	var all []string
	for _, d := range s.Days.Get() {
		all = append(all, d.Date[:4])
	}
	s.Years.Set(slices.Compact(all))
	cmd := graph.Goto("records")
	for _, year := range s.Years.Get() {
		cmd = cmd.Send("month", year)
	}
	return cmd, nil
}

func month(_ context.Context, s *State, year string) error {
	var months []Month
	for _, d := range s.Days.Get() {
		if !strings.HasPrefix(d.Date, year) {
			continue
		}
		if len(months) == 0 || months[len(months)-1].Month != d.Date[:7] {
			months = append(months, Month{Month: d.Date[:7], Weather: map[string]int{}})
		}
		m := &months[len(months)-1]
		m.Days++
		m.Mean += (d.Max + d.Min) / 2
		m.Rain += d.Precipitation
		m.Weather[d.Weather]++
	}
	for i := range months {
		months[i].Mean /= float64(months[i].Days)
	}
	s.Months.Append(months...)
	return nil
}

func records(_ context.Context, s *State) error {
	days := s.Days.Get()
	s.Hottest.Set(slices.MinFunc(days, func(a, b Day) int { return cmp.Compare(b.Max, a.Max) }))
	s.Coldest.Set(slices.MinFunc(days, func(a, b Day) int { return cmp.Compare(a.Min, b.Min) }))
	s.Wettest.Set(slices.MinFunc(days, func(a, b Day) int { return cmp.Compare(b.Precipitation, a.Precipitation) }))
	return nil
}

func pages(_ context.Context, s *State) (cmd graph.Command, err error) {
	for _, year := range s.Years.Get() {
		cmd = cmd.Send("page", year)
	}
	return cmd, nil
}

func page(_ context.Context, s *State, year string) error {
	var table, chart strings.Builder
	rain, sun := 0.0, 0
	for _, m := range s.Months.All() {
		if !strings.HasPrefix(m.Month, year) {
			continue
		}
		w := m.Weather
		fmt.Fprintf(&table, "| %s | %.1f | %.1f | %d | %d | %d | %d | %d |\n", m.Month, m.Mean, m.Rain,
			w["sun"], w["rain"], w["drizzle"], w["fog"], w["snow"])
		fmt.Fprintf(&chart, "%s │%s %.1f mm\n", m.Month, strings.Repeat("█", int(m.Rain/10)), m.Rain)
		rain += m.Rain
		sun += w["sun"]
	}
	s.Pages.Append(fmt.Sprintf("## %s\n\n| Month | Mean °C | Precipitation mm | Sun | Rain | Drizzle | Fog | Snow |\n"+
		"|---|---:|---:|---:|---:|---:|---:|---:|\n%s\nIn all %.1f mm of rain and snow, and %d days of sun.\n\n```text\n%s```",
		year, table.String(), rain, sun, chart.String()))
	return nil
}

func compose(_ context.Context, s *State) error {
	years, hot, cold, wet := s.Years.Get(), s.Hottest.Get(), s.Coldest.Get(), s.Wettest.Get()
	s.Report.Set(fmt.Sprintf("# Seattle's weather, %s to %s\n\n%d days. The hottest was %s with %v °C,\n"+
		"the coldest %s with %v °C,\nthe wettest %s with %v mm.\n\n%s\n\n"+
		"“Sun” is a day on which nothing else was recorded.\n",
		years[0], years[len(years)-1], len(s.Days.Get()), hot.Date, hot.Max, cold.Date, cold.Min,
		wet.Date, wet.Precipitation, strings.Join(s.Pages.Slice(), "\n\n")))
	return nil
}

func approve(ctx context.Context, s *State) (graph.Command, error) {
	ok, err := graph.Ask[bool](ctx, graph.Question{Prompt: "Publish this report?", Detail: s.Report.Get()})
	if err != nil || ok {
		return graph.Goto("publish"), err
	}
	return graph.Goto("decline"), nil
}

func publishTo(out string) func(context.Context, *State) error {
	return func(_ context.Context, s *State) error {
		path := filepath.Join(out, "report.md")
		s.Outcome.Set("published in " + path)
		return errors.Join(os.MkdirAll(out, 0o755), os.WriteFile(path, []byte(s.Report.Get()), 0o644))
	}
}

func decline(_ context.Context, s *State) error {
	s.Outcome.Set("declined; nothing was written")
	return nil
}
