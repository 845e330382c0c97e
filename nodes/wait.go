package nodes

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/weftrun/weft/graph/workflow"
)

// Wait does nothing for a while. It holds the run: a process that ends while it
// waits begins the wait anew when the run is resumed.
//
//	pause:
//	  wait: {for: 30s}
//	  next: again
type Wait struct {
	// For is how long, such as 500ms, 30s or 1h30m.
	For Duration `json:"for"`
}

// Check refuses a wait that is over before it begins.
func (w *Wait) Check(func(string) bool) error {
	if w.For < 0 {
		return &refusal{"for is less than nothing"}
	}
	return nil
}

// Run waits, or returns why the context ended.
func (w *Wait) Run(ctx context.Context, _ workflow.Env) (any, error) {
	if err := w.Check(nil); err != nil { // it may have been an expression
		return nil, err
	}
	timer := time.NewTimer(time.Duration(w.For))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Duration is a time that is written as text, such as 500ms, 30s or 1h30m.
type Duration time.Duration

// UnmarshalJSON reads the text.
func (d *Duration) UnmarshalJSON(data []byte) error {
	var s string
	if json.Unmarshal(data, &s) != nil {
		return fmt.Errorf("want a time such as 30s, 5m or 1h30m, not %s", data)
	}
	t, err := time.ParseDuration(s)
	if err != nil {
		return fmt.Errorf("want a time such as 30s, 5m or 1h30m, not %q", s)
	}
	*d = Duration(t)
	return nil
}
