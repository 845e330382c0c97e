package checkpoint

import "context"

// Examiner is a Store that can check its backend for settings that cost speed, space or
// acknowledged commits.
type Examiner interface {
	// Doctor reads the backend's settings and returns findings for people, the most severe
	// first. It changes nothing. A setting that it may not read is a finding too; the error
	// is for a backend that does not answer at all.
	Doctor(ctx context.Context) ([]Finding, error)
}

// Finding is one result of Doctor.
type Finding struct {
	Severity Severity `json:"severity"`
	Subject  string   `json:"subject"`          // the setting: "appendfsync", "version"
	Value    string   `json:"value"`            // its value, in the backend's terms
	Cost     string   `json:"cost"`             // what the value costs, or that it is good
	Advice   string   `json:"advice,omitempty"` // what to change; "" for nothing
}

// Severity is how much a finding matters.
type Severity int

const (
	// Good needs no change.
	Good Severity = iota
	// Note is a problem only for some uses.
	Note
	// Warning can cost commits, speed or space.
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
