package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	sdk "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/temporal"
)

// looping returns a graph of one node that runs most steps.
func looping(b *testing.B, name string, store checkpoint.Store, most int) graph.Untyped {
	b.Helper()
	g := graph.New[padded](name)
	g.Node("add", graph.Router(func(_ context.Context, s *padded) (graph.Command, error) {
		if s.N.Add(1); s.N.Get() >= most {
			return graph.Goto(graph.End), nil
		}
		return graph.Goto("add"), nil
	}, "add", graph.End))
	g.Edge(graph.Start, "add")
	c, err := g.Compile(graph.Config{Store: store, MaxSteps: most + 1})
	if err != nil {
		b.Fatal(err)
	}
	return c.Untyped()
}

// working returns a client of a graph that a worker in this process runs.
func working(b *testing.B, name string, store checkpoint.Store, most int, mode temporal.Mode) *temporal.Client {
	b.Helper()
	c, err := client.Dial(client.Options{HostPort: shared.Address, Namespace: shared.Namespace, Logger: quiet{}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(c.Close)
	g := looping(b, name, store, most)
	w, err := temporal.NewWorker(c, temporal.WorkerConfig{Graphs: []graph.Untyped{g}, Store: store, Queue: name})
	if err != nil {
		b.Fatal(err)
	}
	if err := w.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(w.Stop)
	runs, err := temporal.NewClient(c, g, temporal.ClientConfig{Store: store, Queue: name, Mode: mode, Heartbeat: 10 * time.Second, TaskTimeout: 10 * time.Second})
	if err != nil {
		b.Fatal(err)
	}
	return runs
}

// runOf runs a thread to its end.
func runOf(b *testing.B, runs *temporal.Client, thread string, steps int) {
	res, err := runs.Invoke(b.Context(), json.RawMessage(`{}`), graph.RunOptions{Thread: thread})
	if err != nil || res.Steps != steps {
		b.Errorf("thread %s ended after %d steps with %v, want %d", thread, res.Steps, err, steps)
	}
}

// BenchmarkSegments runs 32 threads of 200 steps at once, with the server, the worker, the client
// and the store in this process.
func BenchmarkSegments(b *testing.B) {
	const steps, threads = 200, 32
	runs := working(b, fmt.Sprint("segments", queues.Add(1)), new(checkpoint.Memory), steps, temporal.Segments)
	runOf(b, runs, "first", steps)
	b.ResetTimer()
	used := processorTime(b)
	for i := range b.N {
		var wg sync.WaitGroup
		for k := range threads {
			wg.Go(func() { runOf(b, runs, fmt.Sprintf("t%d.%d", i, k), steps) })
		}
		wg.Wait()
	}
	b.ReportMetric(float64(b.N*threads*steps)/b.Elapsed().Seconds(), "supersteps/s")
	b.ReportMetric((processorTime(b)-used).Seconds()*1000/float64(b.N*threads), "cpu-ms/run")
}

// processorTime returns the processor time of this process.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// plain is a workflow with the activities of a run in nodes mode, but without Weft.
func plain(ctx workflow.Context, steps int) error {
	local := workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{StartToCloseTimeout: 2 * time.Second})
	ordinary := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Hour, HeartbeatTimeout: 10 * time.Second,
		RetryPolicy: &sdk.RetryPolicy{InitialInterval: 100 * time.Millisecond}})
	for range steps {
		if err := workflow.ExecuteActivity(ordinary, "plain.Task").Get(ctx, nil); err != nil {
			return err
		}
		if err := workflow.ExecuteLocalActivity(local, "plain.Commit").Get(ctx, nil); err != nil {
			return err
		}
	}
	return nil
}

// BenchmarkNodes compares threads in nodes mode with a workflow of the same activities that do
// nothing. Each round runs 8 of each, of 50 steps, in turns. The figures are medians of rounds.
func BenchmarkNodes(b *testing.B) {
	const steps, threads = 50, 8
	name := fmt.Sprint("nodes", queues.Add(1))
	runs := working(b, name, new(checkpoint.Memory), steps, temporal.Nodes)
	c, err := client.Dial(client.Options{HostPort: shared.Address, Namespace: shared.Namespace, Logger: quiet{}})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	w := worker.New(c, name+"-plain", worker.Options{})
	w.RegisterWorkflowWithOptions(plain, workflow.RegisterOptions{Name: "plain"})
	for _, activityName := range []string{"plain.Task", "plain.Commit"} {
		w.RegisterActivityWithOptions(func(context.Context) error { return nil }, activity.RegisterOptions{Name: activityName})
	}
	if err := w.Start(); err != nil {
		b.Fatal(err)
	}
	defer w.Stop()
	together := func(do func(k int)) (wall, processor time.Duration) {
		began, used := time.Now(), processorTime(b)
		var wg sync.WaitGroup
		for k := range threads {
			wg.Go(func() { do(k) })
		}
		wg.Wait()
		return time.Since(began), processorTime(b) - used
	}
	var ours, theirs, wallRatios, cpuRatios []float64
	round := func(i int) {
		weftOnes := func() (wall, cpu time.Duration) {
			return together(func(k int) { runOf(b, runs, fmt.Sprintf("t%d.%d", i, k), steps) })
		}
		plainOnes := func() (wall, cpu time.Duration) {
			return together(func(k int) {
				run, err := c.ExecuteWorkflow(b.Context(), client.StartWorkflowOptions{ID: fmt.Sprintf("%s/plain%d.%d", name, i, k), TaskQueue: name + "-plain"}, "plain", steps)
				if err == nil {
					err = run.Get(b.Context(), nil)
				}
				if err != nil {
					b.Error(err)
				}
			})
		}
		var a, c [2]time.Duration // ours and theirs: wall and processor
		if i%2 == 0 {
			a[0], a[1] = weftOnes()
			c[0], c[1] = plainOnes()
		} else {
			c[0], c[1] = plainOnes()
			a[0], a[1] = weftOnes()
		}
		ours, theirs = append(ours, a[0].Seconds()*1000/steps), append(theirs, c[0].Seconds()*1000/steps)
		wallRatios, cpuRatios = append(wallRatios, float64(a[0])/float64(c[0])), append(cpuRatios, float64(a[1])/float64(c[1]))
	}
	round(-2)
	ours, theirs, wallRatios, cpuRatios = nil, nil, nil, nil
	b.ResetTimer()
	for i := range b.N {
		round(i)
	}
	b.ReportMetric(median(ours), "ms/superstep")
	b.ReportMetric(median(theirs), "plain-ms/superstep")
	b.ReportMetric(median(wallRatios), "x-plain")
	b.ReportMetric(median(cpuRatios), "x-plain-cpu")
}

func median(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}
