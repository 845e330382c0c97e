package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("bench", flag.ExitOnError)
	short := flags.Bool("short", false, "one short sample of small workloads: whether all results are right")
	match := flags.String("run", "", "only workloads whose name matches this expression")
	rounds := flags.Int("rounds", 7, "samples of each runner")
	each := flags.Duration("each", 200*time.Millisecond, "how long a sample takes, about")
	_ = flags.Parse(args)
	only, err := regexp.Compile(*match)
	if err != nil {
		return err
	}
	plan := Plan{Rounds: *rounds, Each: *each}
	if *short {
		plan = Plan{Rounds: 1, Each: time.Millisecond}
	}
	failed := 0
	for _, w := range workloads(*short) {
		if !only.MatchString(w.Name) {
			continue
		}
		all := measure(ctx, w, plan)
		report(os.Stdout, w, all)
		for _, m := range all {
			if m.Err != nil {
				failed++
			}
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d runners failed or had wrong results", failed)
	}
	return ctx.Err()
}

// workloads returns all of them; short leaves out the sizes that take long.
func workloads(short bool) (all []Workload) {
	sizes := []int{10, 100, 1000, 3000}
	if short {
		sizes = sizes[:2]
	}
	for _, n := range sizes {
		all = append(all, chain(n))
	}
	all = append(all, loop(1000))
	for _, n := range sizes[:min(3, len(sizes))] {
		all = append(all, fanOut(n))
	}
	return all
}
