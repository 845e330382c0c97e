package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// driver is a program in another language that runs workloads. It reads one request per line, and
// writes one reply per line: see langgraph/bench.mjs.
type driver struct {
	ctx     context.Context // of the process
	name    string
	version string
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Scanner
	said    strings.Builder // what it wrote to its standard error
	works   []string        // what it can do; nil is everything
	folder  string
	command []string
	broken  bool // it did not answer: it is started again before the next request
}

// request asks a driver to do a work so many times.
type request struct {
	Version    bool   `json:"version,omitempty"`
	Work       string `json:"work,omitempty"`
	N          int    `json:"n,omitempty"`
	Saver      string `json:"saver,omitempty"`
	Durability string `json:"durability,omitempty"`
	Address    string `json:"address,omitempty"`
	Times      int    `json:"times,omitempty"`
}

type reply struct {
	Nanos   int64  `json:"nanos"`
	Version string `json:"version"`
	Error   string `json:"error"`
	Wrong   bool   `json:"wrong"`
}

// The names of the drivers, which are runners too.
const (
	langgraphJS = "LangGraph.js"
	langgraphPy = "LangGraph"
)

// drivers starts the drivers whose language and libraries are installed in folder. For the others
// it returns the reasons.
func drivers(ctx context.Context, folder string) (there []*driver, missing []string) {
	for _, d := range []struct {
		name, needs, do string
		command, works  []string
	}{
		{langgraphJS, filepath.Join(folder, "node_modules", "@langchain", "langgraph"), "npm ci in bench/langgraph", []string{"node", "--expose-gc", "bench.mjs"}, nil},
		{langgraphPy, filepath.Join(folder, ".venv", "bin", "python"), "python3 -m venv .venv && .venv/bin/pip install -r requirements.txt in bench/langgraph", []string{filepath.Join(".venv", "bin", "python"), "bench.py"},
			[]string{"chain", "loop", "fanout", "steps", "sequential", "fanout_to_subgraph"}},
	} {
		if _, err := os.Stat(d.needs); err != nil {
			missing = append(missing, d.name+": "+d.do)
			continue
		}
		started, err := startDriver(ctx, d.name, folder, d.command)
		if err != nil {
			missing = append(missing, fmt.Sprintf("%s: %v", d.name, err))
			continue
		}
		started.works = d.works
		there = append(there, started)
	}
	return there, missing
}

func startDriver(ctx context.Context, name, folder string, command []string) (*driver, error) {
	d := &driver{ctx: ctx, name: name, folder: folder, command: command}
	if err := d.start(); err != nil {
		return nil, err
	}
	r, err := d.ask(request{Version: true})
	if err != nil {
		d.close()
		return nil, fmt.Errorf("%w: %s", err, firstLine(d.said.String()))
	}
	d.version = r.Version
	return d, nil
}

func (d *driver) start() error {
	d.cmd = exec.CommandContext(d.ctx, d.command[0], d.command[1:]...)
	d.cmd.Dir, d.cmd.Stderr = d.folder, &d.said
	in, err1 := d.cmd.StdinPipe()
	out, err2 := d.cmd.StdoutPipe()
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	d.in, d.out, d.broken = in, bufio.NewScanner(out), false
	return d.cmd.Start()
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}

// maxReply is the time limit of one request to a driver.
const maxReply = 2 * time.Minute

// ask sends a request and waits for its reply. A driver that exceeds maxReply is killed, and
// started again for the next request.
func (d *driver) ask(q request) (r reply, err error) {
	if d.broken {
		d.close()
		if err := d.start(); err != nil {
			return r, err
		}
	}
	line, err := json.Marshal(q)
	if err != nil {
		return r, err
	}
	process := d.cmd.Process
	late := time.AfterFunc(maxReply, func() { _ = process.Kill() })
	defer late.Stop()
	if _, err = fmt.Fprintf(d.in, "%s\n", line); err == nil && !d.out.Scan() {
		err = errors.Join(io.ErrUnexpectedEOF, d.out.Err())
	}
	if err != nil {
		d.broken = true
		return r, fmt.Errorf("%s: no answer within %v: %w", d.name, maxReply, err)
	}
	if err := json.Unmarshal(d.out.Bytes(), &r); err != nil {
		return r, err
	}
	switch {
	case r.Wrong:
		return r, fmt.Errorf("%w: %s", errWrong, r.Error)
	case r.Error != "":
		return r, fmt.Errorf("%s: %s", d.name, r.Error)
	}
	return r, nil
}

// close lets the driver end, and waits for it.
func (d *driver) close() {
	_ = d.in.Close()
	_ = d.cmd.Wait()
}

// does reports whether the driver can do a work.
func (d *driver) does(q request) bool {
	return (d.works == nil || slices.Contains(d.works, q.Work)) && (q.Saver != "postgres" || d.works == nil)
}

// runner is the driver as a runner of a workload.
func (d *driver) runner(q request) Runner {
	return Runner{Name: d.name, Make: func(context.Context) (Job, error) {
		return Job{
			Times: func(_ context.Context, times int) (time.Duration, error) {
				q.Times = times
				r, err := d.ask(q)
				return time.Duration(r.Nanos), err
			},
			Process: d.cmd.Process.Pid,
		}, nil
	}}
}
