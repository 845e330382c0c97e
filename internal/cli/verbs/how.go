package verbs

import (
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/cli/reports"
)

// howToRun are the flags of the verbs that run a graph.
type howToRun struct {
	durability string
	trace      string
	whenBusy
}

func (h *howToRun) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&h.durability, "durability", "sync", "when steps are stored: sync, async or exit")
	cmd.Flags().StringVar(&h.trace, "trace", "", "a FILE for the times of all tasks, which ui.perfetto.dev and chrome://tracing show")
	h.whenBusy.flags(cmd)
}

// durabilities are the values of --durability.
var durabilities = []graph.Durability{graph.Sync, graph.Async, graph.Exit}

// options returns the options of a run on the thread. The run begins when its events are read.
func (s *session) options(h howToRun) (o graph.RunOptions, err error) {
	o = graph.RunOptions{Thread: s.thread, Hold: true, Metadata: s.metadata()}
	if o.Lease, err = h.hold(); err != nil {
		return o, err
	}
	if s.trace = h.trace; s.trace != "" { // before anything runs
		f, err := os.OpenFile(s.trace, os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			return o, reports.Usage("name a file that can be written", "--trace: %w", err)
		}
		_ = f.Close()
	}
	var names []string
	for _, d := range durabilities {
		if d.String() == h.durability {
			o.Durability = d
			return o, nil
		}
		names = append(names, d.String())
	}
	return o, reports.Usage("use one of "+strings.Join(names, ", "), "there is no durability %q", h.durability)
}
