package pace

import (
	"flag"
	"os"
	"strconv"
)

// Of returns how often to try: whole, or raced under the race detector.
func Of(whole, raced int) int {
	if Raced {
		return raced
	}
	return whole
}

// Tries sets how often rapid tries each of its tests: whole, or raced under the race detector. TestMain calls it
// before m.Run, so that -rapid.checks on the command line has the last word.
func Tries(whole, raced int) {
	if err := flag.Set("rapid.checks", strconv.Itoa(Of(whole, raced))); err != nil {
		panic(err) // the test does not import rapid
	}
}

// Soak returns short, or long with WEFT_SOAK=1 in the environment. What a test does without it, it
// does at least once: the short form of a test is never nothing.
func Soak(short, long int) int {
	switch {
	case short < 1:
		panic("pace: the short form of a test does nothing")
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
