// Package schedule runs functions under bounds: how many are at work at once, how often they may
// begin, and how long they may take.
//
//   - A [Permit] is the right to be at work. [Permits] bounds how many there are. A holder releases
//     its permit while it waits for others, and acquires it again afterwards.
//   - A [Gate] bounds how many attempts run at once, and how many begin in a second.
//   - A [Pool] runs the tasks of one step after another on workers that it starts lazily. Tasks
//     with the same concurrency key run a few at a time; the others of them are parked in a wait
//     queue and hold up no worker.
//   - A [Bound] is the one timer of an attempt: a time limit, an idle time, and a grace period
//     after which the function is given up. An [Activity] reports that the function is alive.
//
// A function is bounded like this:
//
//	b := schedule.Bound{Limit: time.Minute, Grace: time.Second}
//	b.Cause = func(e schedule.Expiry) error {
//		return fmt.Errorf("out of time after %v", e.Elapsed)
//	}
//	var page string
//	res := b.Run(ctx, func(ctx context.Context) { page = load(ctx) })
//	if res.Ending == schedule.GivenUp {
//		return "", res.Cause // load still runs, and may still write page
//	}
//
// A function that nothing bounds runs on the goroutine of its caller.
//
// The package knows nothing of graphs and states. In package graph, a step runs its tasks on the
// pool (graph/execute.go), and an attempt has its bound and its gates (graph/attempt.go); what
// is due, and when a step is committed, is decided there.
package schedule
