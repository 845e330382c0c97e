package turn

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/weftrun/weft/graph"
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

// decides reports whether a question wants a [Decision].
func decides(q graph.Interrupt) bool {
	return q.Kind == "question" && q.Accepts(json.RawMessage(`{"decision":"approve"}`)) == nil && q.Accepts(json.RawMessage(`true`)) != nil
}

// read makes of text an answer that fits a question.
func read(q graph.Interrupt, text string) (v any, clear bool) {
	fits := func(data []byte, err error) bool { return err == nil && q.Accepts(data) == nil }
	switch {
	case q.Kind != "question":
		return nil, false
	case decides(q):
		return ParseDecision(text)
	case fits(json.Marshal(text)):
		return text, true
	case fits([]byte("true"), nil) && fits([]byte("false"), nil):
		d, clear := ParseDecision(text)
		return d.Verdict == Approve, clear
	case json.Valid([]byte(text)) && fits([]byte(text), nil):
		return json.RawMessage(text), true
	}
	return nil, false
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
