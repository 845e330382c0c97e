package reports

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/weftrun/weft/graph/workflow"
)

// Verdict is the result of validate for one file. Text is for people.
type Verdict struct {
	File     string    `json:"file"`
	Valid    bool      `json:"valid"`
	Problems []Problem `json:"problems,omitempty"`
	Text     string    `json:"-"`
}

// Problem is one error or warning in a file.
type Problem struct {
	Code    workflow.Code `json:"code,omitempty"`
	File    string        `json:"file,omitempty"`
	Line    int           `json:"line,omitempty"`
	Col     int           `json:"col,omitempty"`
	Width   int           `json:"width,omitempty"`
	Message string        `json:"message"`
	Hint    string        `json:"hint,omitempty"`
	// Severity is "warning", or "" for an error.
	Severity string `json:"severity,omitempty"`
}

// Annotation is a problem as a command of GitHub Actions.
func (p Problem) Annotation() string {
	var at string
	if p.File != "" {
		at = fmt.Sprintf(" file=%s,line=%d,col=%d,endColumn=%d,title=%s", inProperty.Replace(p.File), p.Line, p.Col, p.Col+p.Width, p.Code)
	}
	return "::" + cmp.Or(p.Severity, "error") + at + "::" + inMessage.Replace(p.text())
}

// Text is the message with its hint.
func (p Problem) text() string {
	if p.Hint == "" {
		return p.Message
	}
	return p.Message + " (" + p.Hint + ")"
}

// The characters that have a meaning in a command of GitHub Actions.
var (
	inMessage  = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	inProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// Problems returns the mistakes that err lists, or err as the only one.
func Problems(err error) (all []Problem) {
	var we *workflow.Error
	if !errors.As(err, &we) {
		return []Problem{{Message: err.Error()}}
	}
	for _, p := range we.Problems {
		one := Problem{Code: p.Code, File: p.File, Line: p.Line, Col: p.Col, Width: p.Width, Message: p.Msg, Hint: p.Hint}
		if p.Warning {
			one.Severity = p.Severity()
		}
		all = append(all, one)
	}
	return all
}

// Excerpts returns the mistakes of a workflow, with the lines of the file if they are known.
func Excerpts(err error) string {
	var we *workflow.Error
	if errors.As(err, &we) {
		return we.Excerpts()
	}
	return err.Error()
}
