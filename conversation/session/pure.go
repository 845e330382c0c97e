package session

import (
	"slices"

	"github.com/weftrun/weft/state/message"
)

// Follow returns the calls without a result after messages, given those before. It is pure. In
// flagged are the calls without a result before a user message. One *message.InvalidError reports
// results without an open call and calls with the id of an open one.
func Follow(open []string, ms []message.Message) (still, flagged []string, err error) {
	still = slices.Clone(open)
	var problems []message.Problem
	problem := func(i int, rule message.Rule, why string) {
		problems = append(problems, message.Problem{Index: i, ID: ms[i].ID, Rule: rule, Why: why})
	}
	for i, m := range ms {
		if m.Role == message.RoleUser {
			flagged = append(flagged, still...)
		}
		for _, r := range m.Results {
			at := slices.Index(still, r.CallID)
			if at < 0 {
				problem(i, message.RuleUnknownCall, "the call "+r.CallID+" is not open")
				continue
			}
			still = slices.Delete(still, at, at+1)
		}
		for _, c := range m.Calls {
			if slices.Contains(still, c.ID) {
				problem(i, message.RuleDuplicate, "the call "+c.ID+" is open already")
				continue
			}
			still = append(still, c.ID)
		}
	}
	if problems != nil {
		return open, nil, &message.InvalidError{Problems: problems}
	}
	return still, flagged, nil
}

// Derive returns the view of a log for a model: the leading system messages, a summary in place of
// the messages up to until, and the rest, cut to a window. It is pure and does not change the log.
// Without a summary it is w.Fit.
func Derive(log []message.Message, s *message.Message, until int, w message.Window) (message.Fitted, error) {
	if s == nil {
		return w.Fit(log)
	}
	lead := leading(log)
	ms := slices.Clone(log[:lead])
	ms = append(append(ms, *s), log[max(lead, min(until, len(log))):]...)
	return w.Fit(ms)
}

// leading returns the number of system messages at the beginning of a log.
func leading(log []message.Message) int {
	n := slices.IndexFunc(log, func(m message.Message) bool { return m.Role != message.RoleSystem })
	if n < 0 {
		return len(log)
	}
	return n
}
