package verbs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/tidwall/gjson"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/internal/cli/reports"
	"github.com/weftrun/weft/internal/suggest"
)

func (a *app) stateVerb() *cobra.Command {
	var path string
	var at moment
	cmd := &cobra.Command{
		Use:   "state THREAD [FILE]",
		Short: "Show the state of a thread, now or at an earlier checkpoint",
		Long: `State shows the state of a thread, now or at an earlier checkpoint. The thread knows its
workflow; name the FILE if it was moved.

With --namespace it is the state of a subgraph: its values as they are stored, without
defaults, so no FILE is needed. weft history --namespace lists its checkpoints.`,
		Args: a.arguments("THREAD", 1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withStore(cmd.Context(), a.openToRead, func(store checkpoint.Store) error {
				s := &session{app: a, store: store, thread: args[0]}
				return s.state(cmd.Context(), first(args[1:]), at, path)
			})
		},
	}
	cmd.Flags().StringVar(&path, "path", "", "only what is at this path, such as months.0.rain or months.#.rain")
	at.flags(cmd, "the number of a checkpoint (default the newest)")
	return cmd
}

func (s *session) state(ctx context.Context, file string, at moment, path string) error {
	p, err := s.mustInspect(ctx)
	if err != nil {
		return err
	}
	why, err := s.whyStored(ctx, "state", file, p, at)
	if err != nil {
		return err
	}
	var data json.RawMessage
	var then graph.CommitInfo
	if why == nil {
		data, then, err = s.graph.Thread(s.thread).State(ctx, at.at)
		if errors.Is(err, checkpoint.ErrSchema) && file == "" {
			why = err
		}
	}
	if why != nil {
		s.noteStored(p, why)
		data, then, err = s.storedState(ctx, at)
	}
	if err != nil {
		return at.unknown(ctx, s, err)
	}
	if path != "" {
		return s.printPath(ctx, data, then, path)
	}
	if s.JSON {
		return s.PrintJSON(struct {
			graph.CommitInfo
			State json.RawMessage `json:"state"`
		}{then, data})
	}
	return s.printState(then, data)
}

// inSubgraph returns the part of a heading that names a subgraph, or "".
func inSubgraph(namespace string) string {
	if namespace == "" {
		return ""
	}
	return "subgraph " + reports.Cell(namespace) + ", "
}

// storedState returns the state as one JSON object, without the graph of the thread.
func (s *session) storedState(ctx context.Context, at moment) (json.RawMessage, graph.CommitInfo, error) {
	values, then, err := s.stored().State(ctx, checkpoint.Key{Thread: s.thread, Namespace: at.namespace}, at.at)
	if err != nil {
		return nil, then, err
	}
	var b bytes.Buffer
	for _, v := range values {
		if v.Err != nil {
			s.Note("the field %s is left out: only its own program can put it together", v.Field)
		}
		if v.Value == nil {
			continue
		}
		sign := ","
		if b.Len() == 0 {
			sign = "{"
		}
		fmt.Fprintf(&b, "%s%s:%s", sign, quoteJSON(v.Field), v.Value)
	}
	if b.Len() == 0 {
		return json.RawMessage("{}"), then, nil
	}
	b.WriteString("}")
	return b.Bytes(), then, nil
}

// plainField matches a path that begins with the name of a field.
var plainField = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*`)

// missing describes why a path has no value: the field is unknown, the part is missing, or it is
// null.
func (s *session) missing(ctx context.Context, then graph.CommitInfo, path string) error {
	values, _, err := s.stored().State(ctx, checkpoint.Key{Thread: s.thread, Namespace: then.Namespace}, then.Checkpoint)
	if err != nil {
		return err
	}
	name := plainField.FindString(path)
	var names []string
	for _, v := range values {
		names = append(names, v.Field)
		switch {
		case v.Field != name:
		case v.Err != nil:
			return reports.Usage("use the program of the thread", "the field %q cannot be read here: %w", name, v.Err)
		case v.Value == nil && path == name:
			s.Note("the field %q has no value at checkpoint %d", name, then.Checkpoint)
			_, err := fmt.Fprintln(s.Stdout, "null")
			return err
		default:
			return reports.Usage(s.Command("state", "--thread", s.thread, "--path", name)+" shows the field", "the field %q has nothing at %q", name, path)
		}
	}
	if name == "" {
		return reports.Usage(s.Command("state", "--thread", s.thread)+" shows all of it", "the state has nothing at %q", path)
	}
	meant := ""
	if near := suggest.Nearest(name, names); near != "" {
		meant = fmt.Sprintf("; did you mean %q?", near)
	}
	return reports.Usage("the fields are "+strings.Join(names, ", "), "the state has no field %q%s", name, meant)
}

// printPath prints the value at a path: text as it is, other values as JSON.
func (s *session) printPath(ctx context.Context, data []byte, then graph.CommitInfo, path string) error {
	found := gjson.GetBytes(data, path)
	switch {
	case !found.Exists():
		return s.missing(ctx, then, path)
	case s.JSON:
		return s.PrintJSON(json.RawMessage(found.Raw))
	}
	fmt.Fprintln(s.Stdout, found.String())
	return nil
}

func (s *session) printState(p graph.CommitInfo, data []byte) error {
	values, err := members(data)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.Stdout, "thread %s, %scheckpoint %d: turn %d, step %d, %s\n", reports.Cell(s.thread), inSubgraph(p.Namespace), p.Checkpoint, p.Turn, p.Step, p.Status)
	for _, f := range p.Failures {
		what := "the step"
		switch {
		case f.Cancelled:
			fmt.Fprintf(s.Stdout, "node %q was cancelled\n", f.Node)
			continue
		case f.Node != "":
			what = fmt.Sprintf("node %q failed at attempt %d", f.Node, f.Attempt)
		}
		fmt.Fprintf(s.Stdout, "%s: %s\n", what, reports.OneLine(f.Message))
	}
	for _, f := range p.Finished {
		fmt.Fprintf(s.Stdout, "node %q has finished and does not run again\n", f.Node)
	}
	fmt.Fprintln(s.Stdout)
	return reports.PrintValues(s.Stdout, values)
}

// members returns the members of a JSON object in their order.
func members(object []byte) (all workflow.Values, err error) {
	dec := json.NewDecoder(bytes.NewReader(object))
	if _, err := dec.Token(); err != nil {
		return nil, err
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, err
		}
		all = append(all, workflow.Value{Name: fmt.Sprint(name), Value: value})
	}
	return all, nil
}
