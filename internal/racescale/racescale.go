package racescale

import (
	"flag"
	"os"
	"strconv"
	"strings"
	"testing"
)

// Of returns how often to try: whole, or few with -short and under the race detector. It is called after the
// flags were parsed, so not for the value of a global variable.
func Of(whole, few int) int {
	if Raced || testing.Short() {
		return few
	}
	return whole
}

// Tries sets how often rapid tries each of its tests: whole, or few with -short and under the race detector.
// TestMain calls it before m.Run, so that -rapid.checks on the command line has the last word.
func Tries(whole, few int) {
	flag.Parse()
	n := Of(whole, few)
	if testing.Short() {
		n *= 5 // rapid divides it by 5
	}
	for _, arg := range os.Args[1:] {
		if strings.HasPrefix(strings.TrimLeft(arg, "-"), "rapid.checks") {
			return
		}
	}
	if err := flag.Set("rapid.checks", strconv.Itoa(n)); err != nil {
		panic(err) // the test does not import rapid
	}
}

// Soak returns short, or long with WEFT_SOAK=1 in the environment. What a test does without it, it
// does at least once: the short form of a test is never nothing.
func Soak(short, long int) int {
	switch {
	case short < 1:
		panic("racescale: the short form of a test does nothing")
	case os.Getenv("WEFT_SOAK") != "":
		return long
	}
	return short
}

// Environ returns os.Environ for a child process. Under the race detector a process that ends by itself first sleeps
// for a second, in case a goroutine that nobody waits for has a race yet; these do not.
func Environ() []string {
	if !Raced {
		return os.Environ()
	}
	return append(os.Environ(), "GORACE=atexit_sleep_ms=0 "+os.Getenv("GORACE"))
}
