package verbs

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/weftrun/weft/internal/cli/reports"
)

// evaluation is what came of one recorded thread.
type evaluation struct {
	Thread string `json:"thread"`
	Result string `json:"result"` // ok, failed or skipped
	// Why has the reasons of a failure, or why the thread was skipped.
	Why     []string        `json:"why,omitempty"`
	Score   any             `json:"score,omitempty"` // of the judge
	Want    json.RawMessage `json:"recorded,omitempty"`
	Got     json.RawMessage `json:"output,omitempty"`
	Seconds float64         `json:"seconds"`
}

const (
	evaluatedOK      = "ok"
	evaluatedFailed  = "failed"
	evaluatedSkipped = "skipped"
)

func skipped(format string, args ...any) evaluation {
	return evaluation{Result: evaluatedSkipped, Why: []string{fmt.Sprintf(format, args...)}}
}

func (e *evaluation) fail(format string, args ...any) {
	e.Result = evaluatedFailed
	e.Why = append(e.Why, reports.OneLine(fmt.Sprintf(format, args...)))
}

// compare compares the output with the recorded one, in some fields or all. redact removes secrets.
func (e *evaluation) compare(fields []string, redact func(string) string) {
	var want, got map[string]any
	if json.Unmarshal(e.Want, &want) != nil || json.Unmarshal(e.Got, &got) != nil {
		e.fail("the output is no object")
		return
	}
	names := fields
	if len(names) == 0 {
		for name := range want {
			names = append(names, name)
		}
		for name := range got {
			if _, both := want[name]; !both {
				names = append(names, name)
			}
		}
		slices.Sort(names)
	}
	for _, name := range names {
		before, was := want[name]
		after, is := got[name]
		switch {
		case !was && !is:
			e.fail("the output has no field %q", name)
		case !reflect.DeepEqual(before, after):
			e.fail("%s was %s and is %s", name, short(before, redact), short(after, redact))
		}
	}
}

// short returns a value for a line of a table.
func short(v any, redact func(string) string) string {
	const longest = 200
	data, err := json.Marshal(v)
	if err != nil {
		data = []byte(fmt.Sprint(v))
	}
	text := []rune(redact(string(data))) // before it is cut
	if len(text) > longest {
		return string(text[:longest-1]) + "…"
	}
	return string(text)
}

// redactor returns what removes the secrets of a workflow from a text.
func (d declared) redactor() func(string) string {
	if d.flow == nil {
		return func(text string) string { return text }
	}
	return d.flow.Redactor()
}

// redacted returns e without secrets.
func (e evaluation) redacted(redact func(string) string) evaluation {
	for i := range e.Why {
		e.Why[i] = redact(e.Why[i])
	}
	for _, v := range []*json.RawMessage{&e.Want, &e.Got} {
		clean := redact(string(*v))
		if *v != nil && !json.Valid([]byte(clean)) { // a number was a secret
			quoted, _ := json.Marshal(clean) // a text has JSON
			clean = string(quoted)
		}
		*v = json.RawMessage(clean)
	}
	return e
}
