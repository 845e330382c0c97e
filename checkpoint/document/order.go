package document

import (
	"fmt"
	"time"
)

// AtTime returns an Order that sorts by time, to the nanosecond, for every time. Two times have the
// same Order only if they are the same instant.
func AtTime(t time.Time) string {
	return fmt.Sprintf("%016x%08x", uint64(t.Unix())^1<<63, t.Nanosecond())
}
