package refmodel

import (
	"context"
	"encoding/json"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
)

// Untyped runs a Spec by the Invoke and Resume of a graph.Untyped, which may carry out its runs
// elsewhere. Inputs are those of [PlainInputs].
type Untyped struct {
	Runs graph.Untyped

	driver *Driver // reads what is stored
}

var _ Runner = (*Untyped)(nil)

// NewUntyped returns an Untyped of a thread in a store. g reads what is stored.
func NewUntyped(ctx context.Context, runs graph.Untyped, g *graph.Graph[State], store checkpoint.Store) *Untyped {
	return &Untyped{runs, &Driver{ctx: ctx, engine: NewEngine(ctx, g, store)}}
}

// Invoke implements [Runner].
func (u *Untyped) Invoke(input []Op, discard bool) Outcome {
	w := jsonInput{}
	if _, err := run(input, w, "", 0); err != nil {
		panic(err)
	}
	data, err := json.Marshal(w)
	if err != nil {
		panic(err)
	}
	o := u.options()
	if discard {
		o.OnOpenQuestions = graph.Discard
	}
	return u.outcome(u.Runs.Invoke(u.driver.ctx, data, o))
}

// Resume implements [Runner].
func (u *Untyped) Resume(given []Answer) Outcome {
	return u.outcome(u.Runs.Resume(u.driver.ctx, answers(given, u.driver.last), u.options()))
}

func (u *Untyped) options() graph.RunOptions {
	return graph.RunOptions{Thread: u.driver.engine.Thread}
}

// outcome returns how a call ended.
func (u *Untyped) outcome(res graph.Result[json.RawMessage], err error) Outcome {
	return u.driver.outcome(graph.Plan{Status: res.Status, Interrupts: res.Interrupts, Starved: res.Starved, Steps: res.Steps}, err)
}

// History returns the commits of the thread, as Engine.History does.
func (u *Untyped) History() []string { return u.driver.History() }
