package complaints_test

import (
	"testing"

	"github.com/weftrun/weft/internal/complaints"
)

func TestComplaintsAreRecordedAndFailNothing(t *testing.T) {
	for want, check := range map[string]func(testing.TB){
		"":                              func(tb testing.TB) { tb.Helper(); tb.Log("x"); tb.Logf("x") },
		"one\ntwo 2":                    func(tb testing.TB) { tb.Error("one"); tb.Errorf("two %d", 2) },
		"it":                            func(tb testing.TB) { tb.Fatal("it"); tb.Error("and goes on") },
		"it 1":                          func(tb testing.TB) { tb.Fatalf("it %d", 1); tb.Error("and goes on") },
		"failed":                        func(tb testing.TB) { tb.FailNow(); tb.Error("and goes on") },
		"failed\nknows it":              func(tb testing.TB) { tb.Fail(); failedSays(tb, "knows it") },
		"rule: nothing panics\n got: x": func(testing.TB) { panic("x") },
	} {
		if got := complaints.Of(t, check); got != want {
			t.Errorf("rule: complaints are recorded\n got: %q\nwant: %q", got, want)
		}
	}
}

func failedSays(tb testing.TB, what string) {
	if tb.Failed() {
		tb.Error(what)
	}
}
