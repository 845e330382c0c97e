package temporal

import (
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/refmodel"
)

// Random graphs have the trace and the history of the reference interpreter, in both modes.
func TestRandomGraphs_HaveOneTraceInBothModes(t *testing.T) {
	many := *seeds
	if testing.Short() {
		many = min(many, 100)
	}
	for _, mode := range []Mode{Segments, Nodes} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			for s := *seed; s < *seed+uint64(many) && !t.Failed(); s++ {
				playRandom(t, mode, s)
			}
		})
	}
}

// playRandom plays the graph of a seed.
func playRandom(t *testing.T, mode Mode, seed uint64) {
	sp := refmodel.PlainInputs(refmodel.Generate(refmodel.Source(seed)))
	in := refmodel.NewInterpreter(sp)
	want := refmodel.Trace(refmodel.Play(sp, in, seed, false))
	store := new(checkpoint.Memory)
	g, err := (&refmodel.Workshop{Spec: sp}).Compile(graph.Config{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	runs := environmentDriver(mode)(t, g.Untyped(), store)
	r := refmodel.NewUntyped(t.Context(), runs, g, store)
	if got := refmodel.Trace(refmodel.Play(sp, r, seed, false)); got != want {
		t.Errorf("seed %d: the trace differs\n got: %s\nwant: %s\n%v", seed, got, want, sp)
	}
	if got, want := strings.Join(r.History(), "\n"), strings.Join(in.History(), "\n"); got != want {
		t.Errorf("seed %d: the history differs\n got: %s\nwant: %s\n%v", seed, got, want, sp)
	}
}
