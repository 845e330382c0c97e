package message

import (
	"errors"
	"fmt"
	"strings"
)

// ErrLimit is returned when a Window or a Summarizer has a limit that cannot be used:
// a negative one, or none where one is needed.
var ErrLimit = errors.New("message: unusable limit")

// ErrEmptySummary is returned when the text of a summary is empty.
var ErrEmptySummary = errors.New("message: the summary is empty")

// UnknownError is returned when a message is named that is not in the log.
type UnknownError struct{ ID string }

func (e *UnknownError) Error() string { return fmt.Sprintf("message: no message %q in the log", e.ID) }

// Rule names the rule that a message violates.
type Rule string

// The rules of [Validate].
const (
	RuleForm         Rule = "form"          // it cannot be read or written as JSON
	RuleRole         Rule = "role"          // an unknown role
	RuleMix          Rule = "mix"           // the role does not have such parts, calls or results
	RulePart         Rule = "part"          // a part that is not whole
	RuleText         Rule = "text"          // text that is not UTF-8
	RuleID           Rule = "id"            // a message, call or result without an id
	RuleDuplicate    Rule = "duplicate"     // an id that an earlier message or call has
	RuleUnknownCall  Rule = "unknown call"  // a result without a call before it
	RuleSecondResult Rule = "second result" // a result for a call that has one
	RuleUnanswered   Rule = "unanswered"    // a call without a result
)

// Problem is one problem of one message.
type Problem struct {
	Index int    // of the message, from 0
	ID    string // of the message; "" when it has none
	Rule  Rule
	Why   string
}

func (p Problem) String() string {
	at := fmt.Sprintf("message %d", p.Index)
	if p.ID != "" {
		at += fmt.Sprintf(" (%q)", p.ID)
	}
	return at + ": " + p.Why
}

// InvalidError holds all problems of messages.
type InvalidError struct{ Problems []Problem }

func (e *InvalidError) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	if len(lines) == 1 {
		return "message: " + lines[0]
	}
	return fmt.Sprintf("message: %d problems:\n%s", len(lines), strings.Join(lines, "\n"))
}

// invalid returns the problems as an error, nil for none.
func invalid(problems []Problem) error {
	if len(problems) == 0 {
		return nil
	}
	return &InvalidError{problems}
}
