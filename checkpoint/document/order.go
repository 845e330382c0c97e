package document

import (
	"fmt"
	"strconv"
	"time"
)

// AtTime returns an Order that sorts by time, to the nanosecond, for every time. Two times have the
// same Order only if they are the same instant.
func AtTime(t time.Time) string {
	return fmt.Sprintf("%016x%08x", uint64(t.Unix())^1<<63, t.Nanosecond())
}

// TimeOf returns the time of an Order of AtTime; ok is false for another Order.
func TimeOf(order string) (t time.Time, ok bool) {
	if len(order) != 24 {
		return t, false
	}
	seconds, err := strconv.ParseUint(order[:16], 16, 64)
	nanos, err2 := strconv.ParseUint(order[16:], 16, 32)
	return time.Unix(int64(seconds^1<<63), int64(nanos)), err == nil && err2 == nil
}
