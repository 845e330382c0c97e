package verbs

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/cli/reports"
)

var (
	idStart = regexp.MustCompile(`^[0-9a-f]{4,16}$`)
	wholeID = regexp.MustCompile(`^[0-9a-f]{16}$`)
)

// reading is how the text of an answer is interpreted.
type reading int

const (
	asJSON     reading = iota // as JSON if it is valid JSON, else as text
	asText                    // text
	asYesNo                   // true or false
	asDecision                // as the answer to an approval
)

// answerer reads --answer flags for a thread.
type answerer struct {
	open []graph.Interrupt
	had  []string // the ids of questions of this turn that were answered before

	as reading // how to read answers to questions that are not open
}

// replies are the answers that a user gives to questions.
type replies struct {
	answers  []string // VALUE or ID=VALUE
	declined []string // ids
	reason   string   // why the questions are declined
}

// replies pairs the given answers and refusals with their questions.
func (r answerer) replies(given replies) (graph.Answers, error) {
	all, err := r.answers(given.answers)
	if err != nil {
		return all, err
	}
	if !utf8.ValidString(given.reason) {
		return all, notText("reason")
	}
	for _, start := range given.declined {
		id, err := r.one(start)
		if err != nil {
			return all, err
		}
		all = all.Decline(id, given.reason)
	}
	return all, nil
}

// one returns the id of the question whose id begins with start.
func (r answerer) one(start string) (string, error) {
	var matches []string
	if idStart.MatchString(start) {
		matches = r.match(start)
	}
	switch {
	case len(matches) == 1:
		return matches[0], nil
	case len(matches) > 1:
		return "", reports.Usage("write more of the id", "%d questions have an id that begins with %s: %s", len(matches), start, candidates(matches))
	case wholeID.MatchString(start):
		return start, nil
	}
	return "", reports.Usage("give the ID of an open question, or at least four signs of it", "no question of the thread has an id that begins with %q", start)
}

// answers pairs each flag with its question. A flag that names no question gets the id "": the
// graph finds the question, since it knows which answers this turn has received.
func (r answerer) answers(flags []string) (all graph.Answers, err error) {
	for _, flag := range flags {
		if !utf8.ValidString(flag) {
			return all, notText(fmt.Sprintf("answer %q", flag))
		}
		id, value, err := r.split(flag)
		if err == nil && id == "" {
			err = r.mayBeRepeated()
		}
		if err != nil {
			return all, err
		}
		all = all.Answer(id, r.value(id, value))
	}
	return all, nil
}

// errUnseen is returned for a value without an id if the open question was never shown. The value
// may repeat the answer to an earlier question after a crash, so it must not answer this one.
var errUnseen = errors.New("the open question was not shown yet")

func (r answerer) mayBeRepeated() error {
	if len(r.had) > 0 && len(r.open) == 1 && !r.open[0].Seen {
		return errUnseen
	}
	return nil
}

// split splits ID=VALUE if the part before the = is the id of a question, or a unique prefix of
// one. Otherwise the whole flag is the value, since a value may contain an equals sign.
func (r answerer) split(flag string) (id, value string, err error) {
	start, rest, ok := strings.Cut(flag, "=")
	if !ok || !idStart.MatchString(start) {
		return "", flag, nil
	}
	matches := r.match(start)
	switch {
	case len(matches) == 1:
		return matches[0], rest, nil
	case len(matches) > 1:
		return "", "", reports.Usage("write more of the id", "%d questions have an id that begins with %s: %s", len(matches), start, candidates(matches))
	case wholeID.MatchString(start):
		return start, rest, nil
	}
	return "", flag, nil
}

// match returns the ids that begin with start. It looks at open questions first, and at answered
// questions only if no open question matches.
func (r answerer) match(start string) (ids []string) {
	for _, in := range r.open {
		if strings.HasPrefix(in.ID, start) {
			ids = append(ids, in.ID)
		}
	}
	if len(ids) > 0 {
		return ids
	}
	for _, id := range r.had {
		if strings.HasPrefix(id, start) {
			ids = append(ids, id)
		}
	}
	return ids
}

// value returns an answer as JSON. A yes or no takes the form that the question expects. Other text
// stays as it is if it is JSON that fits the question, and becomes a string if a string fits. If
// neither fits, the text is JSON if it is valid JSON, else a string.
func (r answerer) value(id, text string) json.RawMessage {
	plain, quoted := json.RawMessage(text), json.RawMessage(quoteJSON(text))
	in, open := r.question(id)
	if yesNo, ok := decided(in, text); ok && open && in.Accepts(plain) != nil && in.Accepts(quoted) != nil {
		return yesNo
	}
	switch yes, ok := yesNo(text); {
	case open || !ok:
	case r.as == asYesNo:
		return json.RawMessage(fmt.Sprint(yes))
	case r.as == asDecision && yes:
		return json.RawMessage(`{"type":"approve"}`)
	case r.as == asDecision:
		return json.RawMessage(`{"type":"reject"}`)
	}
	switch {
	case !json.Valid(plain), !open && r.as == asText:
		return quoted
	case !open || in.Accepts(plain) == nil || in.Accepts(quoted) != nil:
		return plain
	}
	return quoted
}

// yesNo reports whether a text means yes or no. ok is false if it means neither.
func yesNo(text string) (yes, ok bool) {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "yes", "y", "true", "approve":
		return true, true
	case "no", "n", "false", "reject":
		return false, true
	}
	return false, false
}

// decided returns what a question expects for a plain yes or no. ok is false if it expects neither.
func decided(in graph.Interrupt, text string) (answer json.RawMessage, ok bool) {
	yes, ok := yesNo(text)
	switch {
	case !ok:
		return nil, false
	case yes:
		return decision{word: "approve"}.answer(in)
	}
	return decision{word: "reject"}.answer(in)
}

// question returns the open question that an answer is for, if it is known.
func (r answerer) question(id string) (in graph.Interrupt, open bool) {
	for _, in := range r.open {
		if in.ID == id || id == "" && len(r.open) == 1 {
			return in, true
		}
	}
	return in, false
}
