package storetest

import (
	"encoding/hex"
	"math/rand/v2"
	"testing"

	"github.com/weftrun/weft/checkpoint"
)

// Steps is the number of steps that Bytes runs. It measures around of them: half before and half
// after step 100 and step 1000. The store writes no base in these.
const (
	Steps  = 1100
	around = 100
)

// Bytes runs a graph whose every step adds 1 KiB to a log. It fails the test if, by any measure,
// step 1000 writes 5 % more or less than step 100. A measure returns the current number of bytes.
func Bytes(t testing.TB, store checkpoint.Store, measures map[string]func() int64) {
	t.Helper()
	read := func() map[string]int64 {
		now := map[string]int64{}
		for name, measure := range measures {
			now[name] = measure()
		}
		return now
	}
	at := map[int]map[string]int64{}
	step := 0
	run(t, loop(t, store, func() bool {
		switch step++; step {
		case 100 - around/2, 100 + around/2, 1000 - around/2, 1000 + around/2:
			at[step] = read()
		}
		return step < Steps
	}), "bytes", checkpoint.Reject)
	for name := range measures {
		early := (at[100+around/2][name] - at[100-around/2][name]) / around
		late := (at[1000+around/2][name] - at[1000-around/2][name]) / around
		t.Logf("%s, a step of 1 KiB is %d bytes at step 100, %d at step 1000", name, early, late)
		if late*100 > early*105 || late*100 < early*95 || early < 1024 {
			t.Errorf("rule: what a step costs does not depend on the age of the thread\n got: %d bytes %s at step 100, %d at step 1000\nwant: the same within 5 %%, and at least 1024", early, name, late)
		}
	}
}

// kilobyte returns a text of 1 KiB.
func kilobyte() string {
	b := make([]byte, 512)
	for i := range b {
		b[i] = byte(rand.Uint32())
	}
	return hex.EncodeToString(b)
}
