package budget

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Period is how long an amount is counted before it begins at 0 again, in UTC.
type Period string

// The periods.
const (
	Always Period = ""
	Hour   Period = "hour"
	Day    Period = "day"
	Month  Period = "month"
)

// layouts are how the beginning of a period is written.
var layouts = map[Period]string{Hour: "2006-01-02T15", Day: time.DateOnly, Month: "2006-01"}

// window names the period that a time is in.
func (p Period) window(now time.Time) string {
	if p == Always {
		return ""
	}
	return now.UTC().Format(layouts[p])
}

// The keys of Limit.By, besides "metadata." and a name.
const (
	ByAll    = ""
	ByThread = "thread" // the thread of the run
	ByModel  = "model"  // the name of the model
)

const byMetadata = "metadata."

// Rate bounds how many calls begin.
type Rate struct {
	// Calls may begin in each Per, on average.
	Calls int           `json:"calls"`
	Per   time.Duration `json:"per"`
	// Burst is how many may begin at once after a pause; 0 is Calls.
	Burst int `json:"burst,omitempty"`
}

// Limit bounds calls. At least one of Most, Rate and Concurrency must be set.
type Limit struct {
	// Name identifies the limit in the store. Programs with a limit of one name share its counts,
	// each with its own bounds.
	Name string
	// By is what the limit holds for each of: [ByThread], [ByModel], "metadata." with a name of
	// RunOptions.Metadata, or [ByAll].
	By string
	// Models are the models to whose calls it applies; nil is all.
	Models []string
	// Most bounds what is spent in each Per. A part that is 0 is not bounded.
	Most Amount
	Per  Period
	// Rate bounds how many calls begin; the zero Rate is no bound.
	Rate Rate
	// Concurrency bounds how many calls run at once; 0 is no bound.
	Concurrency int
	// Raise is the amount by which a person may raise Most, until the end of the period. If it is
	// not zero, a call that would exceed a part asks a person instead of failing. It asks only in a
	// run.
	Raise Amount
	// To is who is asked; "" is anybody.
	To string
}

// Check returns an [ErrConfig] that lists what is wrong with the limit, or nil.
func (l Limit) Check() error {
	var errs []error
	wrong := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf("%w: limit %q: %s", ErrConfig, l.Name, fmt.Sprintf(format, args...)))
		}
	}
	_, known := layouts[l.Per]
	name, metadata := strings.CutPrefix(l.By, byMetadata)
	wrong(l.Name == "" || len(l.Name) > 100, "a limit must have a name of at most 100 bytes")
	wrong(!slices.Contains([]string{ByAll, ByThread, ByModel}, l.By) && (!metadata || name == ""),
		"it must be by thread, model or metadata.NAME, or empty for all calls together (got %q)", l.By)
	wrong(!known && l.Per != Always, "its period must be hour, day or month (got %q)", l.Per)
	wrong(l.Most.negative() || l.Raise.negative() || l.Concurrency < 0, "its numbers must not be negative")
	wrong(l.Rate.Calls < 0 || l.Rate.Per < 0 || l.Rate.Burst < 0, "its rate must not be negative")
	wrong((l.Rate.Calls > 0) != (l.Rate.Per > 0), "a rate must have a number of calls and a time")
	wrong(l.Rate.Burst > 0 && l.Rate.Calls == 0, "a burst needs a rate")
	wrong(l.Most == Amount{} && l.Rate == Rate{} && l.Concurrency == 0, "it must bound an amount, a rate or a concurrency")
	wrong(l.Per != Always && l.Most == Amount{}, "a period needs an amount")
	for _, w := range amounts {
		wrong(l.Raise.part(w) > 0 && l.Most.part(w) == 0, "a raise of %[1]s needs a limit of %[1]s", w)
	}
	return errors.Join(errs...)
}

// applies reports whether the limit bounds a model.
func (l *Limit) applies(model string) bool {
	return l.Models == nil || slices.Contains(l.Models, model)
}
