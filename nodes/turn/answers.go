package turn

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/weftrun/weft/graph"
)

var (
	yes = []string{"y", "yes", "yep", "yeah", "ok", "okay", "sure", "approve", "approved", "accept", "accepted", "confirm", "confirmed",
		"go ahead", "go on", "do it", "proceed", "ja", "👍"}
	no = []string{"n", "no", "nope", "reject", "rejected", "deny", "denied", "refuse", "stop", "don't", "do not", "nein", "👎"}
	// reasons introduce a reason after a no.
	reasons = []string{"because", "since", "as"}
	// polite words next to a yes change nothing.
	polite = []string{"please", "thanks", "thank you", "bitte", "danke"}
)

// ParseDecision parses a plain answer by rules alone: a yes with only polite words next to it, or a
// no with an optional reason. The reason follows a comma, "because" or the like. Any other answer
// is unclear, and so is a question.
func ParseDecision(text string) (d graph.Decision, clear bool) {
	if d, clear = parseDecision(text); d.Type == graph.DecisionApprove && strings.ContainsAny(text, "?？؟") {
		return graph.Decision{}, false
	}
	return d, clear
}

func parseDecision(text string) (d graph.Decision, clear bool) {
	first, rest := clause(text)
	switch {
	case slices.Contains(no, first):
		if _, agrees := ParseDecision(rest); agrees && rest != "" {
			return d, false // no, yes
		}
		return graph.Decision{Type: graph.DecisionReject, Message: rest}, true
	case !slices.Contains(yes, first):
		return d, false
	}
	for rest != "" {
		if first, rest = clause(rest); !slices.Contains(polite, first) && !slices.Contains(yes, first) {
			return d, false
		}
	}
	return graph.Decision{Type: graph.DecisionApprove}, true
}

// clause splits text at its first punctuation mark. It removes a polite word from the end of the
// first part.
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

// questionsAmong returns the questions among the interrupts, in order. People see numbers that
// count the questions alone.
func questionsAmong(open []graph.Interrupt) []graph.Interrupt {
	return slices.DeleteFunc(slices.Clone(open), func(q graph.Interrupt) bool { return !q.IsQuestion() })
}

// takesDecision reports whether the answer to a question is a [graph.Decision].
func takesDecision(q graph.Interrupt) bool { return q.Action != nil }

// takesEdit reports whether the decision about a question may be an edit.
func takesEdit(q graph.Interrupt) bool {
	return q.Action != nil && slices.Contains(q.Action.Allow, graph.DecisionEdit)
}

// takesYesNo reports whether the answer to a question must be true or false.
func takesYesNo(q graph.Interrupt) bool {
	takes := func(data string) bool { return q.Accepts(json.RawMessage(data)) == nil }
	return q.Action == nil && takes("true") && takes("false") && !takes(`""`)
}

// unclearAnswer is the reply to an unclear answer.
const unclearAnswer = "That is no clear answer."

// parseAnswer parses text as the answer to a question, or returns what is wrong with the text.
func parseAnswer(q graph.Interrupt, text string) (v any, wrong string) {
	quoted, err := json.Marshal(text)
	switch {
	case err == nil && q.Accepts(quoted) == nil && !takesDecision(q):
		return text, ""
	case takesDecision(q) || takesYesNo(q):
		d, clear := ParseDecision(text)
		if !clear {
			return nil, unclearAnswer
		}
		if takesDecision(q) {
			return d, ""
		}
		if d.Message != "" {
			return nil, fmt.Sprintf("The question takes yes or no alone: %q would be lost.", d.Message)
		}
		return d.Approved(), ""
	}
	given := json.RawMessage(text)
	if !json.Valid(given) {
		given = quoted
	}
	if err := q.Accepts(given); err != nil {
		return nil, fmt.Sprintf("That does not fit: %s.", refusalReason(err))
	}
	return given, ""
}

// refusalReason returns why an answer was refused, for a person, from the error of
// [graph.Interrupt.Accepts].
func refusalReason(err error) string {
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
	if _, member, ok := strings.Cut(at, "/properties/args/properties/"); ok {
		return strings.ReplaceAll(member, "/properties/", ".") + ": " + text
	}
	return text
}

// addressed returns the question that text answers, and the answer: the only open question, or the
// one whose number is first in the text.
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

// FormatQuestions formats open questions for the user, with how to answer them. Several questions
// have numbers, for commands and answers. A pause of the graph has no number.
func FormatQuestions(open []graph.Interrupt) string {
	if len(open) == 0 {
		return "No question is open."
	}
	var b strings.Builder
	n := 0
	for _, q := range open {
		if !q.IsQuestion() {
			fmt.Fprintf(&b, "The turn pauses %s %q.\n", q.Kind, q.Node)
			continue
		}
		if n++; len(questionsAmong(open)) > 1 {
			fmt.Fprintf(&b, "%d. ", n)
		}
		b.WriteString(q.Prompt + "\n")
		if q.Detail != "" {
			b.WriteString("\n" + q.Detail + "\n\n")
		}
	}
	return strings.TrimSpace(b.String() + answerInstructions(questionsAmong(open)))
}

// answerInstructions returns how questions are answered.
func answerInstructions(open []graph.Interrupt) string {
	switch {
	case len(open) == 0:
		return "/continue continues the turn."
	case len(open) > 1:
		return "Begin the answer with the number of its question, or write /approve:all or /reject:all."
	case takesEdit(open[0]):
		return "Answer yes, or no and why; /cancel ends the turn. Change it with /edit and JSON" + example(open[0])
	case takesDecision(open[0]):
		return "Answer yes, or no and why; /cancel ends the turn."
	case takesYesNo(open[0]):
		return "Answer yes or no; /cancel ends the turn."
	}
	return "Write the answer; /cancel ends the turn."
}

// exampleBytes is the maximum length of JSON that is shown on one line.
const exampleBytes = 80

// example returns a short example of an edit, or how to see it.
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

// editable returns the JSON that a question asks to approve; nil if there is none.
func editable(q graph.Interrupt) json.RawMessage {
	if q.Action == nil {
		return nil
	}
	return q.Action.Args
}

// shownEdit returns the command that changes nothing, on one line if it is short.
func shownEdit(q graph.Interrupt) string {
	var b bytes.Buffer
	data := editable(q)
	if len(data) <= exampleBytes || json.Indent(&b, data, "", "  ") != nil {
		return "/edit " + string(data)
	}
	return "/edit " + b.String()
}

// AnswerHint returns a few words about how to answer open questions, for an input line. It returns
// "" if no question is open.
func AnswerHint(open []graph.Interrupt) string {
	switch q := questionsAmong(open); {
	case len(q) == 0:
		return ""
	case len(q) > 1:
		return "number and answer"
	case takesEdit(q[0]):
		return "yes, no or /edit"
	case takesDecision(q[0]), takesYesNo(q[0]):
		return "yes or no"
	}
	return "answer"
}
