package document_test

import (
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint/document"
)

func TestTimeOf_IsTheTimeOfAnOrder(t *testing.T) {
	for _, at := range []time.Time{{}, time.Unix(0, 0), time.Unix(-1, 999_999_999), time.Date(2026, 11, 24, 1, 2, 3, 4, time.UTC)} {
		if got, ok := document.TimeOf(document.AtTime(at)); !ok || !got.Equal(at) {
			t.Errorf("TimeOf(AtTime(%v)) = %v, %v", at, got, ok)
		}
	}
	for _, order := range []string{"", "x", "0123456789abcdef0123456x", document.AtTime(time.Time{}) + "0"} {
		if at, ok := document.TimeOf(order); ok {
			t.Errorf("TimeOf(%q) = %v, want none", order, at)
		}
	}
}
