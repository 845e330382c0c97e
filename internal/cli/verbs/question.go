package verbs

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/cli/reports"
)

// waits shows why a thread waits and how to resume it. It ends the command with the exit code for
// waiting.
func (s *session) waits(ctx context.Context, open []graph.Interrupt) error {
	if err := s.showWait(open); err != nil {
		return err
	}
	ids := make([]string, len(open))
	for i, in := range open {
		ids[i] = in.ID
	}
	if err := s.markSeen(ctx, ids); err != nil && !errors.Is(err, checkpoint.ErrConflict) && !errors.Is(err, checkpoint.ErrOwned) {
		return err
	}
	return reports.ErrWaiting
}

// toMark limits the time to acquire the thread and store that its questions were shown. If another
// process holds the thread longer, resume asks again for an answer without an id.
const toMark = 2 * time.Second

func (s *session) markSeen(ctx context.Context, ids []string) error {
	ctx, cancel := context.WithTimeout(ctx, toMark)
	defer cancel()
	return graph.MarkSeen(ctx, s.store, s.thread, ids...)
}

func (s *session) showWait(open []graph.Interrupt) error {
	if s.JSON {
		end := ended{Thread: s.thread, Workflow: s.graph.Name(), Status: graph.Interrupted, Interrupts: open}
		if !s.inMemory() {
			end.Next = s.commands(open)
		}
		return s.PrintJSON(end)
	}
	var b strings.Builder
	if s.inMemory() {
		defer s.Note("the thread is gone with this process, so nothing can answer; keep threads with --store sqlite:PATH")
	}
	for i, command := range s.commands(open) {
		b.WriteString(s.question(open[i], command))
	}
	_, err := fmt.Fprint(s.Stdout, b.String())
	return err
}

// question returns the text of one interrupt, with the command that resumes it, if there is one.
func (s *session) question(in graph.Interrupt, command string) string {
	var b strings.Builder
	if in.Detail != "" {
		fmt.Fprintf(&b, "%s\n\n", strings.TrimSuffix(in.Detail, "\n"))
	}
	goOn := "Answer with:"
	switch in.Kind {
	case "before", "after":
		fmt.Fprintf(&b, "The run pauses %s the node %q.", in.Kind, reports.NodeName(in.Node))
		goOn = " Go on with:"
	default:
		fmt.Fprintf(&b, "%s\n(asked by the node %q; %s)\n", in.Prompt, in.Node, cmp.Or(choices(in), wanted(in.Schema)))
	}
	switch {
	case command != "":
		fmt.Fprintf(&b, "%s\n  %s\n", goOn, command)
		if in.Action != nil && slices.Contains(in.Action.Allow, graph.DecisionEdit) {
			fmt.Fprintf(&b, "Or change it with:\n  %s\n", s.Command("inbox", "edit", in.ID, "--args", argsToEdit(in.Action)))
		}
	case goOn[0] == ' ':
		b.WriteString("\n")
	}
	return b.String()
}

// argsToEdit returns the arguments of an action as JSON of one line, to change and pass to edit. It
// returns "JSON" for long ones.
func argsToEdit(a *graph.Action) string {
	var line bytes.Buffer
	if json.Compact(&line, a.Args) != nil || line.Len() > 200 {
		return "JSON"
	}
	return line.String()
}

// commands returns the command that answers each question. It is "" if the thread ends with the
// process.
func (s *session) commands(open []graph.Interrupt) []string {
	all := make([]string, len(open))
	if s.inMemory() { // no other process can open the thread
		return all
	}
	for i, in := range open {
		words := []string{"resume", "--thread", s.thread}
		if choices(in) != "" && len(open) == 1 {
			words = []string{"inbox", "approve", "--thread", s.thread}
		} else if choices(in) != "" {
			words = []string{"inbox", "approve", shortID(in.ID, open)}
		} else if in.IsQuestion() {
			words = append(words, "--answer", s.example(in, open))
		}
		all[i] = s.Command(words...)
	}
	return all
}

// example returns an answer to copy. It names the question if several are open.
func (s *session) example(in graph.Interrupt, open []graph.Interrupt) string {
	if len(open) == 1 {
		return sample(in.Schema)
	}
	return shortID(in.ID, open) + "=" + sample(in.Schema)
}

// shortID returns the shortest prefix of an id that no other open question has.
func shortID(id string, open []graph.Interrupt) string {
	for n := min(8, len(id)); n < len(id); n++ {
		same := slices.ContainsFunc(open, func(o graph.Interrupt) bool {
			return o.ID != id && strings.HasPrefix(o.ID, id[:n])
		})
		if !same {
			return id[:n]
		}
	}
	return id
}

// answerType has the parts of a JSON Schema that a few words can describe.
type answerType struct {
	Type any   `json:"type"`
	Enum []any `json:"enum"`
}

func typeOf(schema json.RawMessage) (kind string, t answerType) {
	if json.Unmarshal(schema, &t) != nil {
		return "", t
	}
	kind, _ = t.Type.(string)
	return kind, t
}

// sample returns an answer that a schema accepts, or a placeholder.
func sample(schema json.RawMessage) string {
	kind, t := typeOf(schema)
	switch {
	case len(t.Enum) > 0:
		return enumText(t.Enum[0])
	case kind == "boolean":
		return "true"
	case kind == "integer", kind == "number":
		return "NUMBER"
	case kind == "string":
		return "TEXT"
	case kind == "array", kind == "object":
		return "JSON"
	}
	return "VALUE"
}

// wanted describes the answers that a schema accepts.
func wanted(schema json.RawMessage) string {
	kind, t := typeOf(schema)
	if len(t.Enum) > 0 {
		words := make([]string, len(t.Enum))
		for i, v := range t.Enum {
			words[i] = enumText(v)
		}
		return "one of " + strings.Join(words, ", ")
	}
	switch kind {
	case "boolean":
		return "true or false"
	case "integer":
		return "a whole number"
	case "number":
		return "a number"
	case "string":
		return "a text"
	case "array":
		return "a JSON list"
	case "object":
		return "a JSON object: " + string(schema)
	}
	return "any value"
}

func enumText(v any) string {
	text, err := reports.Readable(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return text
}
