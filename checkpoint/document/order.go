package document

import (
	"fmt"
	"time"
)

// AtTime returns an Order that sorts as times do, to the nanosecond, for every time there
// is. Two times have the same Order only if they are the same instant.
func AtTime(t time.Time) string {
	return fmt.Sprintf("%016x%08x", uint64(t.Unix())^1<<63, t.Nanosecond())
}
