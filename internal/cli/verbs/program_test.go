package verbs_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/capabilities/model/openai"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/weftcli"
)

// testProgram is the command line with nodes and stores for its tests. Node work leaves a durable
// line, ask asks a question, and store crash kills the process before or after a write.
func testProgram() {
	weftcli.Main(weftcli.Config{
		Nodes: map[string]workflow.Kind{
			"work":     workflow.Go(work),
			"approve":  workflow.Go(approve),
			"ask":      workflow.Go(ask),
			"fail":     workflow.Go(fail),
			"wait":     workflow.Go(wait),
			"cling":    workflow.Go(cling),
			"read":     workflow.Go(read),
			"flaky":    workflow.Go(flaky),
			"expiring": workflow.Go(expiring),
			"pass":     workflow.Go(pass),
		},
		Providers: map[string]model.Provider{"openai": openai.Provider()},
		Graphs:    map[string]weftcli.Graph{"review": weftcli.Built(review()), "mute": openMute, "alias": weftcli.Built(review())},
		Chats:     map[string]weftcli.Chat{"parrot": openParrot, "shy": openShy},
		Stores: map[string]weftcli.Opener{
			"crash": openCrash, "crash-all": openCrashAll, "crash-reads": openCrashReads,
			"crash-served": openCrashServed, "panic": openPanic, "hasty": openHasty,
			"redis": openRedis, "postgres": openPostgres,
		},
	})
}

type job struct {
	Worklog string `json:"worklog"`
	Name    string `json:"name"`
	Item    string `json:"item,omitempty"`
	Millis  int    `json:"millis,omitempty"`
}

// work sleeps, and then writes one line that survives the process, if the job has a worklog.
func work(ctx context.Context, j job) (string, error) {
	time.Sleep(time.Duration(j.Millis) * time.Millisecond)
	if j.Worklog == "" {
		return j.Name + j.Item, nil
	}
	return j.Name + j.Item, enter(ctx, j)
}

func enter(ctx context.Context, j job) error {
	f, err := os.OpenFile(j.Worklog, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "%s %s %s\n", graph.TaskID(ctx), j.Name, cmp.Or(j.Item, "-"))
	return errors.Join(err, f.Sync(), f.Close())
}

// approve asks, and does its work after the answer.
func approve(ctx context.Context, j job) (bool, error) {
	ok, err := graph.Ask[bool](ctx, graph.Question{Prompt: "Publish?", Detail: "The report:\nall is well."})
	if err != nil {
		return false, err
	}
	return ok, enter(ctx, j)
}

// ask asks for a text.
func ask(ctx context.Context, j job) (string, error) {
	return graph.Ask[string](ctx, graph.Question{Prompt: j.Name + "?"})
}

// expiring asks for a text that must come within three days.
func expiring(ctx context.Context, j job) (string, error) {
	return graph.Ask[string](ctx, graph.Question{Prompt: j.Name + "?", Timeout: 72 * time.Hour})
}

func fail(_ context.Context, j job) (string, error) { return "", errors.New(j.Name) }

// wait reports that it began, and ends only with its context.
func wait(ctx context.Context, j job) (string, error) {
	if err := say(j, "began"); err != nil {
		return "", err
	}
	<-ctx.Done()
	return "", ctx.Err()
}

// cling reports when its context has ended, and continues.
func cling(ctx context.Context, j job) (string, error) {
	if _, err := wait(ctx, j); ctx.Err() == nil {
		return "", err
	}
	if err := say(j, "clings"); err != nil {
		return "", err
	}
	time.Sleep(time.Hour)
	return "", nil
}

// say writes a line to the worklog, which may be a pipe.
func say(j job, line string) error {
	f, err := os.OpenFile(j.Worklog, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, line)
	return errors.Join(err, f.Close())
}

// flaky fails until its file exists.
func flaky(_ context.Context, j job) (string, error) {
	if _, err := os.Stat(j.Worklog); err == nil {
		return j.Name, nil
	}
	return "", errors.Join(errors.New("not yet\nsaid twice"), os.WriteFile(j.Worklog, nil, 0o600))
}

// read returns the text of a file.
func read(_ context.Context, j job) (string, error) {
	data, err := os.ReadFile(j.Name)
	return string(data), err
}

// pass reports that it began. It ends when the test reads the pipe whose path is its name.
func pass(_ context.Context, j job) (string, error) {
	if err := say(j, "began"); err != nil {
		return "", err
	}
	gate, err := os.OpenFile(j.Name, os.O_WRONLY, 0)
	if err != nil {
		return "", err
	}
	return "", gate.Close()
}
