package verbs

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/user"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/cli/reports"
	"github.com/weftrun/weft/internal/cli/terminal"
)

// grace is how long a node may run after Ctrl-C, or after its run has failed.
const grace = time.Second

// identified returns the context of a command. It names the user and the interface, and has the key
// that signs decisions.
func (a *app) identified(cmd *cobra.Command) (context.Context, error) {
	via := graph.ViaCommandLine
	if cmd.Name() == "chat" {
		via = graph.ViaChat
	}
	ctx := graph.WithGrace(graph.AsCaller(cmd.Context(), cmp.Or(a.by, login()), via), grace)
	if a.sign == "" {
		return ctx, nil
	}
	var err error
	if a.signer, err = readPrivateKey(a.sign); err != nil {
		return ctx, err
	}
	return graph.WithSigner(ctx, a.signer), nil
}

// login returns the name of the user from the system, or else from the environment. It is "" if
// neither knows it.
func login() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return cmp.Or(os.Getenv("USER"), os.Getenv("USERNAME"))
}

// decisions returns the decisions about the thread.
func (s *session) decisions(ctx context.Context) (all []graph.DecisionRecord, err error) {
	for d, err := range graph.ThreadDecisions(ctx, s.store, s.thread) {
		if err != nil {
			return nil, err
		}
		if d.Secret {
			d.Value, d.Args = nil, nil
			if d.Type == graph.DecisionRespond {
				d.Message = ""
			}
		}
		all = append(all, d)
	}
	return all, nil
}

// decisionText describes a decision in one line: what was decided, who decided it, and how.
func decisionText(d graph.DecisionRecord) string {
	var b strings.Builder
	if d.Type == graph.DecisionChange {
		fmt.Fprintf(&b, "change of %s", cmp.Or(strings.Join(d.Fields, ", "), "no field"))
		if d.Node != "" {
			fmt.Fprintf(&b, " as %s", reports.NodeName(d.Node))
		}
		if d.Namespace != "" {
			fmt.Fprintf(&b, " in %s", reports.TaskTitle(d.Namespace, "", ""))
		}
	} else {
		fmt.Fprintf(&b, "%s %s: %s", d.Type, reports.TaskTitle(d.Namespace, d.Node, ""), terminal.Cut(reports.OneLine(d.Prompt), 60))
	}
	switch {
	case d.Secret:
		b.WriteString(" → (secret)")
	case d.Type == graph.DecisionEdit && d.Args != nil:
		fmt.Fprintf(&b, " → %s", terminal.Cut(reports.OneLine(string(d.Args)), 80))
	case d.Type == graph.DecisionRespond && d.Value != nil:
		fmt.Fprintf(&b, " → %s", terminal.Cut(reports.OneLine(string(d.Value)), 80))
	case d.Message != "":
		fmt.Fprintf(&b, " → %s", terminal.Cut(reports.OneLine(d.Message), 80))
	}
	if d.By != "" {
		fmt.Fprintf(&b, ", by %s", reports.Cell(d.By))
	}
	fmt.Fprintf(&b, " (%s, %s)", d.Via, d.Time.Format(time.RFC3339))
	return b.String()
}
