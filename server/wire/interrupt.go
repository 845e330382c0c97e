package wire

import (
	"encoding/json"
	"strings"

	"github.com/weftrun/weft/graph"
)

// questionDigits is how many hex digits the id of a question has.
const questionDigits = 16

// kindQuestion is the Kind of a graph.Interrupt that has a question; others are breakpoints.
const kindQuestion = "question"

// InterruptOf returns an open question on the wire. ok is false for a breakpoint, which has none.
func InterruptOf(in graph.Interrupt) (out Interrupt, ok bool) {
	if in.Kind != kindQuestion {
		return out, false
	}
	value, err := in.InboxValue()
	if err != nil {
		value, _ = json.Marshal(in.Prompt) // of a string
	}
	q := Question{Namespace: NamespaceToWire(in.Namespace), Kind: kindQuestion, Prompt: in.Prompt, Schema: in.Schema, ExpiresAt: At(in.Expires)}
	if in.Action != nil {
		q.Kind = "approval"
	}
	return Interrupt{ID: in.ID, Value: value, Weft: &q}, true
}

// InterruptsOf returns the open questions of a list, without the breakpoints in it. It is not nil.
func InterruptsOf(list []graph.Interrupt) []Interrupt {
	all := []Interrupt{}
	for _, in := range list {
		if out, ok := InterruptOf(in); ok {
			all = append(all, out)
		}
	}
	return all
}

// ThreadInterrupts returns the open questions of a thread by the id of the task at the root that
// they belong to. A task at a breakpoint has an empty list.
func ThreadInterrupts(list []graph.Interrupt) map[string][]Interrupt {
	all := map[string][]Interrupt{}
	for _, in := range list {
		task := TaskUUID(taskAt(in, ""))
		if all[task] == nil {
			all[task] = []Interrupt{}
		}
		if out, ok := InterruptOf(in); ok {
			all[task] = append(all[task], out)
		}
	}
	return all
}

// taskAt returns the id of the task in the graph of a namespace to which a question belongs: it
// asked, or a subgraph in it did. It is "" if there is none, or if the subgraph lives as long as
// the thread.
func taskAt(in graph.Interrupt, ns string) string {
	if in.Namespace == ns {
		return in.Task
	}
	return childTask(in.Namespace, ns)
}

// childTask returns the id of the task of the graph at ns in which the subgraph at inner runs, or
// "".
func childTask(inner, ns string) string {
	rest, ok := strings.CutPrefix(inner, ns)
	if ns != "" && ok {
		rest, ok = strings.CutPrefix(rest, "|")
	}
	if !ok || rest == "" {
		return ""
	}
	segment, _, _ := strings.Cut(rest, "|")
	if _, id, _, ok := cutTask(segment, taskDigits); ok {
		return id
	}
	return ""
}

// childNode returns the node of the graph at ns in which the subgraph at inner runs, or "".
func childNode(inner, ns string) string {
	rest, ok := strings.CutPrefix(inner, ns)
	if ns != "" && ok {
		rest, ok = strings.CutPrefix(rest, "|")
	}
	if !ok {
		return ""
	}
	segment, _, _ := strings.Cut(rest, "|")
	if i := strings.IndexAny(segment, ":/"); i >= 0 {
		segment = segment[:i]
	}
	return segment
}

// ReadResume reads command.resume as answers to the open questions of a thread. An object all of
// whose keys are ids of questions answers those that are open; with none of them nothing is asked.
// Anything else is the answer to the only question. Each answer is checked against the schema of
// its question. The error is an *Error with the code ambiguous_resume, nothing_asked or
// answer_refused.
func ReadResume(resume json.RawMessage, open []graph.Interrupt) (graph.Answers, error) {
	var asked []graph.Interrupt
	byID := map[string]graph.Interrupt{}
	for _, in := range open {
		if in.Kind == kindQuestion {
			asked = append(asked, in)
			byID[in.ID] = in
		}
	}
	if isNull(resume) {
		resume = json.RawMessage("null")
	}
	answers := members(resume)
	named, stale := len(answers) > 0, len(answers) > 0
	for id := range answers {
		_, isOpen := byID[id]
		named, stale = named && (isOpen || isHex(id, questionDigits)), stale && !isOpen
	}
	switch {
	case len(asked) == 0:
		return graph.Answers{}, Errorf(CodeNothingAsked, "No question is open on the thread")
	case named && stale: // others were asked since
		return graph.Answers{}, Errorf(CodeNothingAsked, "No question is open on the thread that resume answers by its id")
	case !named && len(asked) > 1:
		ids := make([]string, len(asked))
		for i, in := range asked {
			ids[i] = in.ID
		}
		return graph.Answers{}, Errorf(CodeAmbiguousResume,
			"Several questions are open; resume must be an object by their ids: %s", strings.Join(ids, ", "))
	case !named:
		answers = map[string]json.RawMessage{asked[0].ID: resume}
	}
	var a graph.Answers
	for _, in := range asked { // in their order
		answer, ok := answers[in.ID]
		if !ok {
			continue
		}
		if err := in.Accepts(answer); err != nil {
			return graph.Answers{}, Errorf(CodeAnswerRefused, "The answer to question %s is refused: %v", in.ID, err)
		}
		a = a.Answer(in.ID, answer)
	}
	return a, nil
}
