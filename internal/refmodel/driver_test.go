package refmodel

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
)

// An external driver makes each call twice, in a new process, and runs the tasks of a step in any
// order. The run produces the trace of the interpreter. A finished task does not run again.
//
// Requirement: driver: the trace is that of the local run
// Requirement: driver: a repeated call has no second effect
func TestDriver_ProducesTheTraceOfTheInterpreter(t *testing.T) {
	atRandom(t, 300, func(_ *testing.T, sp *Spec, seed uint64) error {
		sp = PlainInputs(sp)
		in := NewInterpreter(sp)
		want := Trace(Play(sp, in, seed, false))
		store := new(checkpoint.Memory)
		shop := &Workshop{Spec: sp}
		d, err := NewDriver(context.Background(), func() (*graph.Graph[State], error) {
			return shop.Compile(graph.Config{Store: store})
		}, store)
		if err != nil {
			return err
		}
		d.Order = rand.New(rand.NewPCG(seed, 11)).Perm
		if err := differ("driven from outside", Trace(Play(sp, d, seed, false)), want); err != nil {
			return err
		}
		if faults := d.Faults(); len(faults) > 0 {
			return fmt.Errorf("%d calls that were made again gave another answer; the first: %s", len(faults), faults[0])
		}
		if err := sameWork(sp, shop, in, want); err != nil {
			return err
		}
		return differ("history", strings.Join(d.History(), "\n"), strings.Join(in.History(), "\n"))
	})
}
