// Command card shows the state of an agent: what a turn resets, and what the thread remembers. Each
// line is a process of its own, and the second one is killed in the middle of its turn:
//
//	go run ./examples/card find the station and read 2013
//	go run ./examples/card -crash read read 2014
//	go run ./examples/card
//	go run ./examples/card draw it
//
// Without a message it goes on with the turn that was cut off. The thread is in the file card.db,
// or with -store redis://localhost:6379 in Redis, which the command redis-server starts.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/redis"
	"github.com/weftrun/weft/checkpoint/sqlite"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state/agent"
)

func main() {
	where := flag.String("store", "card.db", "a file, or redis://HOST:PORT")
	thread := flag.String("thread", "demo", "the name of the thread")
	flag.StringVar(&crash, "crash", "", "the capability in which the process is killed")
	flag.Parse()
	if err := run(context.Background(), *where, *thread, strings.Join(flag.Args(), " "), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "card:", err)
		os.Exit(1)
	}
}

// run runs a turn, or the rest of one if there is no message.
func run(ctx context.Context, where, thread, message string, out io.Writer) error {
	store, err := open(ctx, where)
	if err != nil {
		return err
	}
	defer store.Close()
	g, manager, err := rain(store)
	if err != nil {
		return err
	}
	o := graph.RunOptions{Thread: thread}
	var res graph.Result[agent.State]
	if message == "" {
		res, err = g.Resume(ctx, graph.Answers{}, o) // after a crash
	} else {
		res, err = g.Invoke(ctx, manager.CreateFresh(message, nil), o) // a new turn
	}
	if errors.Is(err, graph.ErrUnknownThread) {
		return fmt.Errorf("thread %q does not exist: begin it with a message", thread)
	}
	if err != nil {
		return err
	}
	report(manager, &res.State, out)
	return nil
}

// report prints what the turn has done, which the next turn resets, and what the thread knows.
func report(m agent.StateManager, s *agent.State, out io.Writer) {
	fmt.Fprintln(out, "this turn")
	task, _ := s.Task.Current.Lookup()
	fmt.Fprintf(out, "  task: %s\n", task)
	plan, _ := s.Planning.Plan()
	for i, step := range plan.Steps {
		if r := m.Steps(s).Result(i); step.ContextKey != "" {
			fmt.Fprintf(out, "  step: %s, done: %t\n", step.Capability, r.Success)
		}
	}
	fmt.Fprintln(out, "the thread")
	for ref, entry := range s.Context.All() {
		fmt.Fprintf(out, "  context: %s.%s %s\n", ref.Type, ref.Key, entry.Fields)
	}
	fmt.Fprintf(out, "  messages: %d\n", s.Messages.Len())
}

func open(ctx context.Context, where string) (checkpoint.Store, error) {
	if strings.Contains(where, "://") {
		return redis.OpenURL(ctx, where)
	}
	return sqlite.Open(ctx, where)
}
