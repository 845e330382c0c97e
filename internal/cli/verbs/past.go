package verbs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/cli/reports"
)

// moment is the number of a checkpoint of a thread, or of a subgraph on it. 0 means the newest.
type moment struct {
	at        uint64
	namespace string
}

// flags adds --at and --namespace.
func (m *moment) flags(cmd *cobra.Command, at string) {
	cmd.Flags().Uint64Var(&m.at, "at", 0, at)
	m.subgraph(cmd, "the namespace of a subgraph whose checkpoint it is")
}

// subgraph adds --namespace only.
func (m *moment) subgraph(cmd *cobra.Command, namespace string) {
	cmd.Flags().StringVar(&m.namespace, "namespace", "", namespace)
}

// isPast reports whether the moment may be an older checkpoint of the thread.
func (m moment) isPast() bool { return m != moment{} }

func (m moment) String() string {
	text := "the newest checkpoint"
	if m.at != 0 {
		text = fmt.Sprint("checkpoint ", m.at)
	}
	if m.namespace != "" {
		text += fmt.Sprintf(" of the subgraph %q", m.namespace)
	}
	return text
}

// lists returns the command that lists the checkpoints of the same thread or subgraph.
func (m moment) lists(s *session) string {
	args := []string{"history", "--thread", s.thread}
	if m.namespace != "" {
		args = append(args, "--namespace", m.namespace)
	}
	return s.Command(args...)
}

// unknown replaces the error of an unknown checkpoint. It returns any other error unchanged.
func (m moment) unknown(ctx context.Context, s *session, err error) error {
	switch {
	case !errors.Is(err, graph.ErrUnknownThread):
		return err
	case m.namespace == "":
		return reports.Usage(m.lists(s)+" lists its checkpoints", "thread %q has no checkpoint %d", s.thread, m.at)
	}
	spaces, e := graph.Namespaces(ctx, s.store, s.thread)
	switch {
	case e != nil:
		return e
	case len(spaces) == 0:
		return reports.Usage(m.lists(s)+" lists its checkpoints", "thread %q has no subgraph %q; it has none", s.thread, m.namespace)
	case !slices.Contains(spaces, m.namespace):
		return reports.Usage("its subgraphs are "+strings.Join(spaces, ", "), "thread %q has no subgraph %q", s.thread, m.namespace)
	}
	var f *reports.Failure
	if errors.As(err, &f) {
		err = f.Err
	}
	return reports.Usage(m.lists(s)+" lists its checkpoints", "%w", err)
}
