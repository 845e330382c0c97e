package checkpoint

import (
	"context"
	"fmt"
)

var _ Examiner = (*Memory)(nil)

// Doctor implements Examiner.
func (m *Memory) Doctor(ctx context.Context) ([]Finding, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.closed {
		return nil, ErrClosed
	}
	return []Finding{{
		Severity: Note, Subject: "memory", Value: fmt.Sprintf("%d threads", len(m.threads)),
		Cost:   "all threads are gone when this process ends, and no other process sees them",
		Advice: "keep what must last in a file or on a server",
	}}, nil
}
