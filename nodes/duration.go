package nodes

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/weftrun/weft/graph/workflow"
)

// Duration is a time that is written as text, such as 500ms, 30s or 1h30m.
type Duration time.Duration

// ParamSchema implements [workflow.Described].
func (Duration) ParamSchema() map[string]any {
	return map[string]any{"type": "string", "pattern": `^[-+0-9.a-zµμ]+$`, "$comment": "a time such as 30s"}
}

// UnmarshalJSON reads the text.
func (d *Duration) UnmarshalJSON(data []byte) error {
	s, err := textOf(data)
	if err != nil {
		return &workflow.DurationError{What: fmt.Sprintf("the duration must be a text such as 30s, 5m or 1h30m (got %s)", data)}
	}
	t, err := time.ParseDuration(s)
	if err != nil {
		return &workflow.DurationError{What: fmt.Sprintf("the duration must be a text such as 30s, 5m or 1h30m (got %q)", s)}
	}
	*d = Duration(t)
	return nil
}

// atLeast reads the text of a duration that has a lower limit.
func (d *Duration) atLeast(least time.Duration, limit string, data []byte) error {
	if err := d.UnmarshalJSON(data); err != nil {
		return err
	}
	if *d < Duration(least) {
		return &workflow.DurationError{What: fmt.Sprintf("the duration must be %s (got %s)", limit, data)}
	}
	return nil
}

// PositiveDuration is a Duration that must be greater than 0. In Go 0 means that there is none.
type PositiveDuration Duration

// ParamSchema implements [workflow.Described].
func (PositiveDuration) ParamSchema() map[string]any { return Duration(0).ParamSchema() }

// UnmarshalJSON reads the text.
func (d *PositiveDuration) UnmarshalJSON(data []byte) error {
	return (*Duration)(d).atLeast(1, "positive", data)
}

// Interval is how often something is done: a Duration of at least 1s. In Go 0 means never.
type Interval Duration

// ParamSchema implements [workflow.Described].
func (Interval) ParamSchema() map[string]any { return Duration(0).ParamSchema() }

// UnmarshalJSON reads the text.
func (d *Interval) UnmarshalJSON(data []byte) error {
	return (*Duration)(d).atLeast(time.Second, "at least 1s", data)
}

// Time is a time that is written as text, such as 2026-11-21T09:30:00Z.
type Time string

// ParamSchema implements [workflow.Described].
func (Time) ParamSchema() map[string]any {
	return map[string]any{"type": "string", "pattern": "^[0-9]{4}-", "$comment": "a time such as 2026-11-21T09:30:00Z"}
}

// UnmarshalJSON reads the text.
func (t *Time) UnmarshalJSON(data []byte) error {
	s, err := textOf(data)
	if err == nil {
		_, err = time.Parse(time.RFC3339, s)
	}
	if err != nil {
		return fmt.Errorf("want a time such as 2026-11-21T09:30:00Z, not %s", data)
	}
	*t = Time(s)
	return nil
}

// Expiry limits the wait for an answer. In a file it is the limit alone, such as 48h, or a mapping.
type Expiry struct {
	// After is the limit, such as 48h.
	After PositiveDuration `json:"after"`
	// Then is the type of the answer after that, but not edit, which needs args; "" fails the node.
	Then string `json:"then,omitempty"`
}

// ParamSchema implements [workflow.Described].
func (Expiry) ParamSchema() map[string]any {
	limit := Duration(0).ParamSchema()
	return map[string]any{
		"type": []string{"string", "object"}, "pattern": limit["pattern"], "$comment": "a time such as 30s, or {after: time, then: type}",
		"required": []string{"after"}, "additionalProperties": false,
		"properties": map[string]any{"after": map[string]any{"type": "string", "pattern": `^[-+0-9.a-zµμ]+$|\$\{\{`}, "then": map[string]any{"type": "string"}},
	}
}

// UnmarshalJSON reads the text or the object.
func (e *Expiry) UnmarshalJSON(data []byte) error {
	if !bytes.HasPrefix(data, []byte("{")) {
		return e.After.UnmarshalJSON(data)
	}
	type fields Expiry
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode((*fields)(e)); err != nil {
		return err
	}
	if e.After == 0 {
		return errors.New("expires requires after, the time limit of the answer")
	}
	return nil
}

// textOf returns the text in JSON. Null is no text.
func textOf(data []byte) (string, error) {
	var s *string
	if err := json.Unmarshal(data, &s); err != nil {
		return "", err
	}
	if s == nil {
		return "", errors.New("null")
	}
	return *s, nil
}
