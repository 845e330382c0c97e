package testreport_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/weftrun/weft/internal/testreport"
)

func TestRecorder_RecordsAndFailsNothing(t *testing.T) {
	for want, check := range map[string]func(testing.TB){
		"":                              func(tb testing.TB) { tb.Helper(); tb.Log("x"); tb.Logf("x") },
		"one\ntwo 2":                    func(tb testing.TB) { tb.Error("one"); tb.Errorf("two %d", 2) },
		"it":                            func(tb testing.TB) { tb.Fatal("it"); tb.Error("and goes on") },
		"it 1":                          func(tb testing.TB) { tb.Fatalf("it %d", 1); tb.Error("and goes on") },
		"failed":                        func(tb testing.TB) { tb.FailNow(); tb.Error("and goes on") },
		"failed\nknows it":              func(tb testing.TB) { tb.Fail(); reportFailed(tb, "knows it") },
		"rule: nothing panics\n got: x": func(testing.TB) { panic("x") },
	} {
		if got := testreport.Of(t, check); got != want {
			t.Errorf("rule: complaints are recorded\n got: %q\nwant: %q", got, want)
		}
	}
}

func TestProbe_ReportsRuleGotAndWant(t *testing.T) {
	kind := errors.New("kind")
	for want, check := range map[string]func(p testreport.Probe){
		"": func(p testreport.Probe) {
			p.Same("r", 1, "1")
			p.Done("r", nil)
			p.Fails("r", fmt.Errorf("x: %w", kind), kind)
		},
		"rule: r\n got: 1\nwant: 2\ngoes on":                               func(p testreport.Probe) { p.Same("r", 1, 2); p.Error("goes on") },
		"rule: r\n got: error x\nwant: no error":                           func(p testreport.Probe) { p.Done("r", errors.New("x")); p.Error("goes on") },
		"rule: r\n got: error x\nwant: an error that is \"kind\"\ngoes on": func(p testreport.Probe) { p.Fails("r", errors.New("x"), kind); p.Error("goes on") },
	} {
		if got := testreport.Of(t, func(tb testing.TB) { check(testreport.Probe{TB: tb}) }); got != want {
			t.Errorf("rule: a probe complains in one form\n got: %q\nwant: %q", got, want)
		}
	}
}

func reportFailed(tb testing.TB, what string) {
	if tb.Failed() {
		tb.Error(what)
	}
}
