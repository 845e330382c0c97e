package wire

import (
	"encoding/json"
	"fmt"
	"time"
)

// Time is a time on the wire: RFC 3339 in UTC with milliseconds, or null if it is zero.
type Time struct{ time.Time }

// At returns t as a Time.
func At(t time.Time) Time { return Time{t} }

// timeLayout is RFC 3339 in UTC with milliseconds.
const timeLayout = "2006-01-02T15:04:05.000Z"

// String returns the time as it is on the wire, or "" if it is zero.
func (t Time) String() string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(timeLayout)
}

// MarshalJSON returns the time as a string, or null if it is zero.
func (t Time) MarshalJSON() ([]byte, error) {
	if t.IsZero() {
		return []byte("null"), nil
	}
	return json.Marshal(t.String())
}

// UnmarshalJSON reads any RFC 3339 time, or null.
func (t *Time) UnmarshalJSON(data []byte) error {
	var s *string
	if err := json.Unmarshal(data, &s); err != nil || s == nil {
		t.Time = time.Time{}
		return err
	}
	at, err := time.Parse(time.RFC3339Nano, *s)
	if err != nil {
		return fmt.Errorf("wire: a time must be RFC 3339 (got %.40q)", *s)
	}
	t.Time = at.UTC()
	return nil
}
