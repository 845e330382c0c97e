package graph

import (
	"context"
	"time"
)

// Now returns the time by the clock of the graph that ctx belongs to, Config.Now, in UTC;
// outside a run it is that of the system. A node that runs again reads it again: what must stay
// the same belongs in [Once].
func Now(ctx context.Context) time.Time {
	if t := taskOf(ctx); t != nil {
		return t.run.cfg.Now().UTC().Round(0)
	}
	return time.Now().UTC().Round(0)
}
