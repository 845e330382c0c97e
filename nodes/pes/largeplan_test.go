package pes_test

import (
	"fmt"
	"testing"

	"github.com/weftrun/weft/nodes/pes"
)

// A plan that is far too large is refused before its items are checked, which would take minutes.
func TestPlan_LargeIsRefusedAtOnce(t *testing.T) {
	var p pes.Plan
	for i := range 4000 {
		p.Items = append(p.Items, pes.Item{ID: fmt.Sprint(i), Task: "x", DependsOn: []string{fmt.Sprint(i + 1)}})
	}
	p.Items[len(p.Items)-1].DependsOn = nil
	if problems := p.Check(50); len(problems) == 0 {
		t.Error("it is accepted")
	}
}
