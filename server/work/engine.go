package work

import (
	"fmt"

	"github.com/weftrun/weft/graph"
)

// Engine is implemented by the graph of a Job whose runs go on without this process. Its context
// ends with the cause graph.ErrDetached when the worker stops, or has lost the claim: the run then
// goes on, and the next process to claim it rejoins it.
type Engine interface {
	// Rejoin returns the graph for a run that was started before with the same RunOptions.ID. Start
	// and StartResume of it wait for the end of that run if the engine knows it, and begin it
	// otherwise.
	Rejoin() graph.Untyped
}

// errLeft is the cause with which a worker leaves a run to its engine.
var errLeft = fmt.Errorf("work: the worker leaves the run to its engine: %w", graph.ErrDetached)
