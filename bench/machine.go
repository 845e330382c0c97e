package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
)

// machine prints when, where and of what versions all this is.
func (p *place) machine(w io.Writer, plan Plan) {
	fmt.Fprintf(w, "%s, %s/%s, %d processors%s%s, %s", time.Now().UTC().Format("2006-01-02 15:04 UTC"), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), processor(), load(), runtime.Version())
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dep := range info.Deps {
			if name, ok := named[dep.Path]; ok {
				fmt.Fprintf(w, ", %s %s", name, dep.Version)
			}
		}
	}
	for _, program := range [][]string{{"redis-server", "--version"}, {postgresBinary("postgres"), "--version"}} {
		if out, err := exec.Command(program[0], program[1:]...).Output(); err == nil {
			if v := version.Find(out); v != nil {
				fmt.Fprintf(w, ", %s %s", map[string]string{"redis-server": "Redis"}[program[0]]+map[bool]string{true: "PostgreSQL"}[program[0] != "redis-server"], v)
			}
		}
	}
	for _, d := range p.drivers {
		fmt.Fprintf(w, ", %s", d.version)
	}
	fmt.Fprintf(w, ".\n\nMedians of up to %d samples of about %v, in turns; the spread is half of the distance between the quarters. allocs and bytes are Go's; stored and commands are what the store is given; peak is by how much the memory of the process grows at most. × first and × Weft are ratios of times.\n\n", plan.Rounds, plan.Each)
	for _, m := range p.missing {
		fmt.Fprintf(w, "- not here: %s\n", m)
	}
	if len(p.missing) > 0 {
		fmt.Fprintln(w)
	}
}

var version = regexp.MustCompile(`\d+\.\d+(\.\d+)?`)

// named are the modules whose versions matter.
var named = map[string]string{"github.com/cloudwego/eino": "eino", "modernc.org/sqlite": "modernc.org/sqlite"}

// processor returns the model of the processor, if the system reports it.
func processor() string {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	_, rest, ok := bytes.Cut(info, []byte("model name"))
	if !ok {
		return ""
	}
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	return " (" + strings.Trim(string(line), " \t:") + ")"
}

// load returns the number of runnable processes. Other work on the machine distorts the times.
func load() string {
	avg, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	first, _, _ := strings.Cut(string(avg), " ")
	return ", load " + first
}
