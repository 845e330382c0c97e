package verbs

import (
	"context"
	"encoding/json"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/internal/cli/reports"
)

// ended is the result of run and resume, as JSON.
type ended struct {
	Thread     string            `json:"thread"`
	Workflow   string            `json:"workflow"`
	Status     graph.Status      `json:"status"`
	Output     *workflow.Values  `json:"output,omitempty"`
	Interrupts []graph.Interrupt `json:"interrupts,omitempty"`
	Next       []string          `json:"next,omitempty"` // commands that resume the thread
	// Starved are the nodes that did not run, since their join was never complete.
	Starved []string `json:"starved,omitempty"`
}

// result prints the output of the graph.
func (s *session) result(ctx context.Context, end json.RawMessage, starved ...string) error {
	output, err := s.graph.output(ctx, s.thread, end)
	if err != nil {
		return err
	}
	if s.JSON {
		return s.PrintJSON(ended{Thread: s.thread, Workflow: s.graph.Name(), Status: graph.Done, Output: &output, Starved: starved})
	}
	if len(output) == 0 {
		s.Note("thread %q is done; the workflow has no output", s.thread)
	}
	return reports.PrintValues(s.Stdout, output)
}
