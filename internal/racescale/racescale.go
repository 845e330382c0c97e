package racescale

import (
	"flag"
	"os"
	"strconv"
	"strings"
	"testing"
)

// Of returns a number of cases: whole, or few with -short or under the race detector. Flags must be
// parsed before the call, so Of cannot initialize a global variable.
func Of(whole, few int) int {
	if Raced || testing.Short() {
		return few
	}
	return whole
}

// Tries sets the number of cases of each rapid test: whole, or few with -short or under the race
// detector. TestMain calls it before m.Run, so that -rapid.checks on the command line overrides it.
func Tries(whole, few int) {
	flag.Parse()
	tries(Of(whole, few))
}

// ShortTries is Tries for tests that mostly wait for a server: the race detector alone does not
// make the cases fewer.
func ShortTries(whole, few int) {
	flag.Parse()
	if testing.Short() {
		whole = few
	}
	tries(whole)
}

func tries(n int) {
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

// Parallel sets how many parallel tests run at once, for tests that mostly wait. The default is the
// number of processors. TestMain calls it before m.Run; -parallel on the command line overrides it.
func Parallel(n int) {
	flag.Parse()
	if isSet("test.parallel") {
		return
	}
	if err := flag.Set("test.parallel", strconv.Itoa(n)); err != nil {
		panic(err)
	}
}

// isSet reports whether the command line sets a flag.
func isSet(name string) (set bool) {
	flag.Visit(func(f *flag.Flag) { set = set || f.Name == name })
	return set
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

// Environ returns os.Environ for a child process. Under the race detector, a process sleeps for a
// second before it exits, to find races in goroutines that still run. Environ turns that sleep off.
func Environ() []string {
	if !Raced {
		return os.Environ()
	}
	return append(os.Environ(), "GORACE=atexit_sleep_ms=0 "+os.Getenv("GORACE"))
}
