package testreport

import (
	"errors"
	"fmt"
	"testing"
)

// Probe complains in one form: the rule, got, want. A suite embeds it in what its rules are given.
type Probe struct{ testing.TB }

// Same complains, and goes on, when got and want do not look the same.
func (p Probe) Same(rule string, got, want any) {
	p.Helper()
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
		p.Errorf("rule: %s\n got: %.2000s\nwant: %.2000s", rule, g, w)
	}
}

// Done ends the sub-test when err is not nil.
func (p Probe) Done(rule string, err error) {
	p.Helper()
	if err != nil {
		p.Fatalf("rule: %s\n got: error %v\nwant: no error", rule, err)
	}
}

// Fails complains, and goes on, when err is not of a kind.
func (p Probe) Fails(rule string, err, kind error) {
	p.Helper()
	if !errors.Is(err, kind) {
		p.Errorf("rule: %s\n got: error %v\nwant: an error that is %q", rule, err, kind)
	}
}
