package wake_test

import (
	"context"
	"fmt"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/wake"
)

// A schedule begins a run each weekday at eight o'clock in Berlin. It is stored, so a program may
// set it each time it begins.
func ExampleTimers_Schedule() {
	ctx, friday := context.Background(), time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	store, timers := new(checkpoint.Memory), wake.Over(new(document.Map))
	b := graph.New[log]("report")
	b.Node("write", graph.Func(func(ctx context.Context, _ *log) error {
		fmt.Println("writes", graph.Thread(ctx))
		return nil
	}))
	b.Edge(graph.Start, "write")
	b.Edge("write", graph.End)
	g, err := b.Compile(graph.Config{Store: store, Timers: timers})
	if err != nil {
		fmt.Println(err)
		return
	}
	morning := wake.Schedule{Name: "morning", Graph: "report", Cron: "0 8 * * 1-5", Zone: "Europe/Berlin"}
	if err := timers.Schedule(ctx, morning, friday); err != nil {
		fmt.Println(err)
		return
	}
	// In place of wake.Run, which goes on until its context ends:
	for day := range 5 {
		now := friday.AddDate(0, 0, day)
		report, err := wake.Once(ctx, wake.Config{Store: store, Timers: timers, Resume: wake.Graphs(g.Untyped()), Start: wake.Starts(g.Untyped()),
			Now: func() time.Time { return now }})
		fmt.Println(now.Format("Monday"), report.Started, err)
	}
	// Output:
	// Friday 0 <nil>
	// Saturday 0 <nil>
	// Sunday 0 <nil>
	// writes morning/2026-05-04T06:00:00Z
	// Monday 1 <nil>
	// writes morning/2026-05-05T06:00:00Z
	// Tuesday 1 <nil>
}
