package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

func main() {
	child()
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "beside:", err)
		os.Exit(1)
	}
}

// child is the process of a program, if this is one.
func child() {
	name, about, is := strings.Cut(os.Getenv("BESIDE_PROGRAM"), "/")
	if !is {
		return
	}
	times, err := strconv.Atoi(os.Getenv("BESIDE_TIMES"))
	if err == nil {
		err = serve(name, about, times)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "beside:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func run() error {
	write := flag.Bool("write", false, "write docs/beside.md in place of printing it")
	times := flag.Int("times", 20, "how often each program runs")
	flag.Parse()
	seen, err := observeAll(context.Background(), *times)
	if err != nil {
		return err
	}
	page, err := render(seen, seenOn(time.Now(), runtime.Version(), *times))
	if err != nil {
		return err
	}
	if !*write {
		_, err = os.Stdout.WriteString(page)
		return err
	}
	return os.WriteFile(pageFile, []byte(page), 0o644)
}

// pageFile is the page, from the folder of the module.
const pageFile = "../docs/beside.md"
