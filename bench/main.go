package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"regexp"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// Threads of large states are measured on purpose: a warning for each would bury the tables.
	slog.SetDefault(slog.New(slog.DiscardHandler))
	if err := command(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// shortPlan is for looking at results and not at times.
var shortPlan = Plan{Rounds: 1, Each: time.Microsecond}

func command(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("bench", flag.ExitOnError)
	short := flags.Bool("short", false, "one sample of small workloads: whether all results are right")
	match := flags.String("run", "", "only workloads whose name matches this expression")
	rounds := flags.Int("rounds", 5, "samples of each runner")
	each := flags.Duration("each", 100*time.Millisecond, "how long a sample takes, about")
	most := flags.Duration("most", 4*time.Second, "a runner that has taken so long for a workload gives no more samples")
	out := flags.String("out", "", "a file for the tables too")
	var o options
	flags.BoolVar(&o.plain, "plain", false, "without servers and other languages")
	flags.StringVar(&o.redis, "redis", "", "the URL of a Redis; without it one is started")
	flags.StringVar(&o.postgres, "postgres", "", "the URL of a PostgreSQL; without it one is started")
	flags.StringVar(&o.folder, "langgraph", "langgraph", "the folder with the drivers of LangGraph")
	serving := flags.Bool("serve", false, "measure the server in place of the workloads")
	streams := flags.Int("streams", 10_000, "with -serve: how many idle streams")
	child := flags.String(childFlag, "", "serve graphs on a store; -serve uses it")
	_ = flags.Parse(args)
	if *child != "" {
		return serveChild(ctx, *child)
	}
	only, err := regexp.Compile(*match)
	if err != nil {
		return err
	}
	o.short = *short
	if *serving {
		return serveTable(ctx, os.Stdout, o, *streams, only)
	}
	plan := Plan{Rounds: *rounds, Each: *each, Most: *most}
	if *short {
		plan = shortPlan
	}
	p, err := newPlace(ctx, o)
	if err != nil {
		return err
	}
	defer p.close()
	var table bytes.Buffer
	failed := p.measure(ctx, io.MultiWriter(os.Stdout, &table), only, plan)
	if *out != "" {
		if err := os.WriteFile(*out, table.Bytes(), 0o644); err != nil {
			return err
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d runners failed or had wrong results", failed)
	}
	return ctx.Err()
}

// measure measures what matches, prints it, and returns how many runners failed.
func (p *place) measure(ctx context.Context, w io.Writer, only *regexp.Regexp, plan Plan) (failed int) {
	p.machine(w, plan)
	header(w)
	seen, order := results{by: map[string][]Measured{}}, []string(nil)
	for _, work := range p.workloads() {
		if ctx.Err() != nil || !only.MatchString(work.Name) {
			continue
		}
		all := measure(ctx, work, plan)
		seen.by[work.Name], order = all, append(order, work.Name)
		report(w, work, all)
		for _, m := range all {
			failed += one(m.Err != nil)
		}
	}
	fmt.Fprintln(w)
	seen.notes(w, order)
	if only.MatchString("both ends") {
		seen.ends = p.ends(ctx, 3)
		reportEnds(w, seen.ends)
		for _, e := range seen.ends {
			failed += one(e.Err != nil)
		}
	}
	if !p.short {
		budget(w, seen)
	}
	return failed
}

// stored returns the workloads on long conversations and long lists.
func (p *place) stored() (all []Workload) {
	few, many, texts := 100, 20_000, 10_000
	if p.short {
		few, many, texts = 10, 20, 20
	}
	all = append(all, addMessages(few))
	for _, g := range p.stores {
		all = append(all, logSteps(few, g), logSteps(many, g), loadThread(texts, g))
	}
	return all
}

func one(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// workloads returns all of them; short leaves out the sizes that take long.
func (p *place) workloads() (all []Workload) {
	sizes, turns, n, threads, long, servers := []int{10, 100, 1000, 3000}, 1000, 200, 1000, 10_000, 1000
	if p.short {
		sizes, turns, n, threads, long, servers = sizes[:2], 20, 5, 10, 20, 20
	}
	for _, n := range sizes {
		all = append(all, p.with(chain(n), request{Work: "chain", N: n, Saver: "none"}))
	}
	all = append(all, p.with(loop(turns), request{Work: "loop", N: turns, Saver: "none"}), many30(turns))
	for _, n := range sizes[:min(3, len(sizes))] {
		all = append(all, p.with(fanOut(n), request{Work: "fanout", N: n, Saver: "none"}))
	}
	for _, n := range sizes[:min(3, len(sizes))] {
		all = append(all, sends(n))
	}
	all = append(all, subgraphs(sizes[1]), wideCounters(10), wideCounters(sizes[1]), growingLists(30), invoke())
	for _, n := range sizes[:min(3, len(sizes))] {
		all = append(all, compile(n))
	}
	if !p.short {
		all = append(all, compile(10_000))
	}
	all = append(all, yamlLoop(turns), readers(turns), p.with(stepsAlone(n), request{Work: "steps", N: n, Saver: "none"}))
	for _, g := range p.stores {
		w := steps(n, g)
		if g.saver != "" {
			w = p.with(w, request{Work: "steps", N: n, Saver: g.saver, Durability: "sync", Address: g.address()})
		}
		all = append(all, w)
	}
	for _, name := range []string{"memory", "Redis"} {
		if g, ok := p.store(name); ok {
			all = append(all, crowd(threads, 100, g))
		}
	}
	for _, g := range p.stores {
		last := servers
		if g.name == "memory" {
			last = long
		}
		all = append(all, resume(10, g), resume(last, g))
	}
	all = append(all, p.growths()...)
	all = append(all, p.stored()...)
	return append(all, p.suite()...)
}
