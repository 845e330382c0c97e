package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"
)

// Runtime is a library with its programs.
type Runtime struct {
	Name     string
	Module   string
	Version  string // that of go.mod; "" is this tree
	Released string // the day of the version, by the module proxy
	About    string // how its programs are written
	Programs map[string]Program
	Cannot   map[string]string // why it has no program for a case
	Notes    map[string]string // what its documentation adds to an outcome
}

// Program puts a case to a runtime, and returns what was seen.
type Program func(ctx context.Context) string

// runtimes are all runtimes, in the order of the page.
var runtimes = []Runtime{weft, eino, adk, trpc, smallnest, dshills}

// Seen are the different outcomes of a program, sorted.
type Seen []string

const (
	// perRun bounds a run of a program, and perProcess all its runs. None begins after 2 × perRun.
	perRun     = 10 * time.Second
	perProcess = time.Minute
)

const hangs = "did not return"

// serve runs a program several times, and prints a line for each outcome. It is the process that
// observe starts.
func serve(name, about string, times int) error {
	i := slices.IndexFunc(runtimes, func(r Runtime) bool { return r.Name == name })
	if i < 0 {
		return fmt.Errorf("no runtime %q", name)
	}
	program := runtimes[i].Programs[about]
	if program == nil {
		return fmt.Errorf("%s has no program for %q", name, about)
	}
	for began := time.Now(); times > 0 && time.Since(began) < 2*perRun; times-- {
		outcome, back := bounded(program)
		fmt.Println(outcomePrefix + outcome)
		if !back {
			break
		}
	}
	return nil
}

// Libraries may print lines too.
const outcomePrefix = "outcome: "

// bounded runs a program, and reports whether it returned in time.
func bounded(program Program) (outcome string, back bool) {
	ctx, cancel := context.WithTimeout(context.Background(), perRun)
	defer cancel()
	done := make(chan string, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				done <- "panics in the caller: " + short(fmt.Sprint(p))
			}
		}()
		done <- program(ctx)
	}()
	select {
	case outcome := <-done:
		return outcome, true
	case <-time.After(perRun + perRun/5):
		return hangs, false
	}
}

// observe runs a program several times in a process of its own, because a runtime may end the
// process. It has four processors as Go counts them, so that nodes may overtake each other on any
// machine.
func observe(ctx context.Context, r Runtime, c Case, times int) (Seen, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, perProcess)
	defer cancel()
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), "GOMAXPROCS=4", "BESIDE_PROGRAM="+r.Name+"/"+c.Name, fmt.Sprintf("BESIDE_TIMES=%d", times))
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	ends := cmd.Run()
	set := map[string]bool{}
	for lines := bufio.NewScanner(&stdout); lines.Scan(); {
		if outcome, ok := strings.CutPrefix(lines.Text(), outcomePrefix); ok {
			set[outcome] = true
		}
	}
	switch exit := new(exec.ExitError); {
	case ctx.Err() != nil && len(set) > 0:
		return nil, fmt.Errorf("%d runs take longer than %v", times, perProcess)
	case ctx.Err() != nil:
		set[hangs] = true
	case errors.As(ends, &exit):
		set["the process ends: "+lastWords(&stderr)] = true
	case ends != nil:
		return nil, ends
	}
	return slices.Sorted(maps.Keys(set)), nil
}

// lastWords is the line with which a Go process ends.
func lastWords(stderr *bytes.Buffer) string {
	line := "without a word"
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		text := lines.Text()
		if strings.HasPrefix(text, "panic:") || strings.HasPrefix(text, "fatal error:") || strings.HasPrefix(text, "beside:") {
			return short(strings.TrimSuffix(text, " [recovered]"))
		}
	}
	return line
}

// table has the outcomes of all programs: by the name of the case, and by that of the runtime.
type table map[string]map[string]Seen

// observeAll runs all programs, a few at a time.
func observeAll(ctx context.Context, times int) (table, error) {
	all := table{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	var errs []error
	places := make(chan struct{}, 4)
	for _, c := range cases {
		all[c.Name] = map[string]Seen{}
		for _, r := range runtimes {
			if r.Programs[c.Name] == nil {
				continue
			}
			wg.Go(func() {
				places <- struct{}{}
				defer func() { <-places }()
				seen, err := observe(ctx, r, c, times)
				mu.Lock()
				defer mu.Unlock()
				all[c.Name][r.Name] = seen
				if err != nil {
					errs = append(errs, fmt.Errorf("%s, %s: %w", r.Name, c.Name, err))
				}
			})
		}
	}
	wg.Wait()
	return all, errors.Join(errs...)
}
