package checkpoint

import "context"

// Examiner is a Store that can look at what it stands on, and say what is set up so
// that it costs speed, room or commits that were acknowledged.
type Examiner interface {
	// Doctor asks the backend about itself and returns what a person should know,
	// the gravest first. It changes nothing. What it may not ask is a finding too; the
	// error is for a backend that does not answer at all.
	Doctor(ctx context.Context) ([]Finding, error)
}

// Finding is one thing that Doctor saw.
type Finding struct {
	Severity Severity `json:"severity"`
	Subject  string   `json:"subject"`          // what was looked at: "appendfsync", "version"
	Value    string   `json:"value"`            // what it is, in the backend's words
	Cost     string   `json:"cost"`             // what it costs you as it is, or that it is well
	Advice   string   `json:"advice,omitempty"` // what to do about it; "" when nothing
}

// Severity says how much a finding matters.
type Severity int

const (
	// Good is as it should be.
	Good Severity = iota
	// Note is worth knowing, and wrong only for some.
	Note
	// Warning costs commits, speed or room on a bad day.
	Warning
	// Danger can lose whole threads, or stops the store from working.
	Danger
)

// MarshalText returns what String returns.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// String returns the severity in lower case.
func (s Severity) String() string {
	switch s {
	case Good:
		return "good"
	case Note:
		return "note"
	case Warning:
		return "warning"
	case Danger:
		return "danger"
	}
	return "unknown"
}
