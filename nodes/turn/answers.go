package turn

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state/agent"
)

var (
	yes = []string{"y", "yes", "yep", "yeah", "ok", "okay", "sure", "approve", "approved", "accept", "accepted", "confirm", "confirmed",
		"go ahead", "go on", "do it", "proceed", "ja", "👍"}
	no = []string{"n", "no", "nope", "reject", "rejected", "deny", "denied", "refuse", "stop", "don't", "do not", "nein", "👎"}
	// reasons may follow a no.
	reasons = []string{"because", "since", "as"}
	// polite may stand beside a yes and changes nothing.
	polite = []string{"please", "thanks", "thank you", "bitte", "danke"}
)

// ParseDecision reads a plain answer by rules alone: a yes and nothing but politeness beside it, or a no, after which a
// reason may stand, behind a comma, "because" or the like. All else is not clear; who asks something has not said yes.
func ParseDecision(text string) (d Decision, clear bool) {
	if d, clear = parseDecision(text); d.Verdict == Approve && strings.ContainsAny(text, "?？؟") {
		return Decision{}, false
	}
	return d, clear
}

func parseDecision(text string) (d Decision, clear bool) {
	first, rest := clause(text)
	switch {
	case slices.Contains(no, first):
		if _, agrees := ParseDecision(rest); agrees && rest != "" {
			return d, false // no, yes
		}
		return Decision{Verdict: Reject, Feedback: rest}, true
	case !slices.Contains(yes, first):
		return d, false
	}
	for rest != "" {
		if first, rest = clause(rest); !slices.Contains(polite, first) && !slices.Contains(yes, first) {
			return d, false
		}
	}
	return Decision{Verdict: Approve}, true
}

// clause cuts text at its first sign of punctuation. The first part comes without a polite word at its end.
func clause(text string) (first, rest string) {
	first = strings.TrimSpace(text)
	if at := strings.IndexAny(first, ",.;:!?–—\n"); at >= 0 {
		first, rest = first[:at], first[at:]
	}
	first = strings.Join(strings.Fields(strings.ToLower(strings.ReplaceAll(first, "’", "'"))), " ")
	if word, why, ok := strings.Cut(first, " "); ok && slices.Contains(no, word) && slices.ContainsFunc(reasons, func(r string) bool { return strings.HasPrefix(why, r+" ") }) {
		return word, why + rest
	}
	for _, p := range polite {
		if cut, ok := strings.CutSuffix(first, " "+p); ok {
			first = cut
		}
	}
	return first, strings.TrimSpace(strings.TrimLeft(rest, ",.;:!?–— \n\t"))
}

// asked returns what is asked of open, in its order: the numbers that people see count these alone, and no pause.
func asked(open []graph.Interrupt) []graph.Interrupt {
	return slices.DeleteFunc(slices.Clone(open), func(q graph.Interrupt) bool { return q.Kind != "question" })
}

// decides reports whether a question wants a [Decision].
func decides(q graph.Interrupt) bool {
	return q.Kind == "question" && q.Accepts(json.RawMessage(`{"decision":"approve"}`)) == nil && q.Accepts(json.RawMessage(`true`)) != nil
}

// edits reports whether a decision about a question may be an edit.
func edits(q graph.Interrupt) bool {
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	_ = json.Unmarshal(q.Schema, &schema) // of another form it has no such property
	return decides(q) && schema.Properties["edited"] != nil
}

// yesNo reports whether a question wants true or false and nothing else.
func yesNo(q graph.Interrupt) bool {
	takes := func(data string) bool { return q.Accepts(json.RawMessage(data)) == nil }
	return takes("true") && takes("false") && !takes(`""`)
}

// unclear is what is said of an answer that says nothing for certain.
const unclear = "That is no clear answer."

// read makes of text an answer that fits a question, or says why there is none.
func read(q graph.Interrupt, text string) (v any, wrong string) {
	quoted, err := json.Marshal(text)
	switch {
	case err == nil && q.Accepts(quoted) == nil && !decides(q):
		return text, ""
	case decides(q) || yesNo(q):
		d, clear := ParseDecision(text)
		if !clear {
			return nil, unclear
		}
		if decides(q) {
			return d, ""
		}
		if d.Feedback != "" {
			return nil, fmt.Sprintf("The question takes yes or no alone: %q would be lost.", d.Feedback)
		}
		return d.Verdict == Approve, ""
	}
	given := json.RawMessage(text)
	if !json.Valid(given) {
		given = quoted
	}
	if err := q.Accepts(given); err != nil {
		return nil, fmt.Sprintf("That does not fit: %s.", reason(err))
	}
	return given, ""
}

// reason returns why an answer was refused, from the error of [graph.Interrupt.Accepts], for those who gave it.
func reason(err error) string {
	if all, ok := err.(interface{ Unwrap() []error }); ok && len(all.Unwrap()) > 0 {
		err = all.Unwrap()[len(all.Unwrap())-1]
	}
	text, at := err.Error(), ""
	for {
		step, rest, ok := strings.Cut(text, ": ")
		where, validating := strings.CutPrefix(step, "validating ")
		if !ok || !validating {
			break
		}
		text, at = rest, where
	}
	text = strings.TrimPrefix(strings.TrimPrefix(text, "type: "), "required: ")
	if _, member, ok := strings.Cut(at, "/properties/edited/properties/"); ok {
		return strings.ReplaceAll(member, "/properties/", ".") + ": " + text
	}
	return text
}

// addressed returns the question that text answers, and the answer: the only one, or the one whose number comes
// first in the text.
func addressed(open []graph.Interrupt, text string) (q graph.Interrupt, answer string, ok bool) {
	if len(open) == 1 {
		return open[0], text, true
	}
	number, rest, _ := strings.Cut(strings.TrimLeft(text, "# "), " ")
	n, err := strconv.Atoi(strings.TrimRight(number, ".:,)"))
	if err != nil || n < 1 || n > len(open) {
		return q, text, false
	}
	return open[n-1], strings.TrimSpace(rest), true
}

// Asking writes open questions as the user reads them, and how they are answered. Where there are several each has a
// number, which commands and answers name; a pause of the graph has none.
func Asking(open []graph.Interrupt) string {
	if len(open) == 0 {
		return "No question is open."
	}
	var b strings.Builder
	n := 0
	for _, q := range open {
		if q.Kind != "question" {
			fmt.Fprintf(&b, "The turn pauses %s %q.\n", q.Kind, q.Node)
			continue
		}
		if n++; len(asked(open)) > 1 {
			fmt.Fprintf(&b, "%d. ", n)
		}
		b.WriteString(q.Prompt + "\n")
		if q.Detail != "" {
			b.WriteString("\n" + q.Detail + "\n\n")
		}
	}
	return strings.TrimSpace(b.String() + howTo(asked(open)))
}

// howTo says how questions are answered.
func howTo(open []graph.Interrupt) string {
	switch {
	case len(open) == 0:
		return "/continue goes on."
	case len(open) > 1:
		return "Begin the answer with the number of its question, or write /approve:all or /reject:all."
	case edits(open[0]):
		return "Answer yes, or no and why; /cancel ends the turn. Change it with /edit and JSON" + example(open[0])
	case decides(open[0]):
		return "Answer yes, or no and why; /cancel ends the turn."
	case yesNo(open[0]):
		return "Answer yes or no; /cancel ends the turn."
	}
	return "Write the answer; /cancel ends the turn."
}

// exampleBytes is how long JSON may be to be shown in one line.
const exampleBytes = 80

// example shows an edit where it is short, or says how it is seen.
func example(q graph.Interrupt) string {
	data := editable(q)
	switch {
	case len(data) == 0:
		return "."
	case len(data) > exampleBytes:
		return "; /edit alone shows what there is to change."
	}
	return ", such as\n/edit " + string(data)
}

// editable returns what a question asks to approve, as JSON; nil is nothing.
func editable(q graph.Interrupt) json.RawMessage {
	var r agent.ApprovalRequest
	if json.Unmarshal(q.Data, &r) != nil {
		return nil
	}
	return r.Data
}

// shownEdit writes the command that would change nothing, on one line or, where that is long, on several.
func shownEdit(q graph.Interrupt) string {
	var b bytes.Buffer
	data := editable(q)
	if len(data) <= exampleBytes || json.Indent(&b, data, "", "  ") != nil {
		return "/edit " + string(data)
	}
	return "/edit " + b.String()
}

// Prompt says in a few words what an answer to open questions may be, for the place where it is written; "" where
// nothing is asked.
func Prompt(open []graph.Interrupt) string {
	switch q := asked(open); {
	case len(q) == 0:
		return ""
	case len(q) > 1:
		return "number and answer"
	case edits(q[0]):
		return "yes, no or /edit"
	case decides(q[0]), yesNo(q[0]):
		return "yes or no"
	}
	return "answer"
}
