package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// TestMain makes the test binary the server that TestServe_ResultsAreRight measures.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "-"+childFlag {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer stop()
		if err := serveChild(ctx, os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// TestServe_ResultsAreRight measures the servers with few requests. It fails on wrong results,
// never on times.
func TestServe_ResultsAreRight(t *testing.T) {
	var out bytes.Buffer
	if err := serveTable(t.Context(), &out, options{short: true, folder: "langgraph"}, 10, regexp.MustCompile("")); err != nil {
		t.Error(err)
	}
	for _, want := range []string{"| memory | SQLite | Redis | PostgreSQL |", "| 10 idle streams", " /s | "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the table does not have %q:\n%s", want, &out)
		}
	}
}

// TestWorkloads_ResultsAreRight runs short workloads on all installed runners. It fails on wrong
// results, never on times.
func TestWorkloads_ResultsAreRight(t *testing.T) {
	p := newTestPlace(t, options{short: true, folder: "langgraph"})
	for _, name := range []string{"memory", "SQLite", "Redis", "PostgreSQL"} {
		if _, ok := p.store(name); !ok {
			t.Errorf("these tests need %s: %v", name, p.missing)
		}
	}
	var out bytes.Buffer
	if failed := p.measure(t.Context(), &out, regexp.MustCompile(""), shortPlan); failed > 0 {
		t.Errorf("%d runners failed or had wrong results:\n%s", failed, &out)
	}
	for _, want := range []string{"chain of 100", "fan-out of 10", "react_agent", "wide_dict", "YAML", "resume", "threads at once", "both ends"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report does not have %q:\n%s", want, &out)
		}
	}
}

// TestResult_WrongIsNeverFast gives a runner a result that is wrong.
func TestResult_WrongIsNeverFast(t *testing.T) {
	w := Workload{Name: "counting", Unit: "step", Units: 1, Runners: []Runner{
		{floor, func(context.Context) (Job, error) { return job(func(context.Context) error { return is(1, 1) }) }},
		{weft, func(context.Context) (Job, error) { return job(func(context.Context) error { return is(1, 2) }) }},
	}}
	all := measure(t.Context(), w, shortPlan)
	if !errors.Is(all[1].Err, errWrong) || all[1].Fine() || !all[0].Fine() {
		t.Errorf("got %+v", all)
	}
	var out bytes.Buffer
	report(&out, w, all)
	if !strings.Contains(out.String(), "Weft | **wrong result: got 1, want 2**") {
		t.Errorf("the report does not say so:\n%s", &out)
	}
}

// The chain is too slow, but ten times faster than a peer. The messages take too long, but no
// longer than their ratio to plain Go allows.
func TestBudget_NotMetIsReported(t *testing.T) {
	r := results{by: map[string][]Measured{"chain of 1000": {
		{Runner: weft, Samples: []Sample{{Nanos: 101}}},
		{Runner: eino, Samples: []Sample{{Nanos: 1010}}},
		{Runner: langgraphJS, Err: errWrong},
	}, "100 messages added by id, no store": {
		{Runner: floor, Samples: []Sample{{Nanos: 400}}},
		{Runner: weft, Samples: []Sample{{Nanos: 1200}}},
	}}}
	var out bytes.Buffer
	budget(&out, r)
	want := "### The budget\n\n| what | budget | measured | | ÷ plain Go, budget | measured | |\n|---|--:|--:|---|--:|--:|---|\n" +
		"| a superstep of a chain of 1,000, no store | ≤ 100 ns | 101 ns | **not met** | | | |\n" +
		"| a message added by id, no store | ≤ 600 ns | 1200 ns | **not met** | ≤ 3.24 | 3 | met |\n" +
		"| chain of 1000: eino ÷ Weft | ≥ 10 | 10 | met | | | |\n\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &out, want)
	}
}

func TestStats_MediansAndSpreads(t *testing.T) {
	m := Measured{Samples: []Sample{{Nanos: 5}, {Nanos: 1}, {Nanos: 100}, {Nanos: 4}, {Nanos: 3}}}
	if got := m.Median().Nanos; got != 4 {
		t.Errorf("median: got %v, want 4", got)
	}
	if got := m.Spread(); got != 0.25 {
		t.Errorf("spread: got %v, want 0.25: half of 5 - 3, by 4", got)
	}
}

func newTestPlace(t *testing.T, o options) *place {
	t.Helper()
	p, err := newPlace(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.close)
	return p
}
