package suggest_test

import (
	"strings"
	"testing"

	"github.com/weftrun/weft/internal/suggest"
)

func TestNearest(t *testing.T) {
	known := []string{"search", "review", "a", "Draft"}
	for word, want := range map[string]string{
		"serach": "search", "reviews": "review", "draft": "Draft", "publish": "", "": "", "b": "",
		strings.Repeat("x", 100): "",
	} {
		if got := suggest.Nearest(word, known); got != want {
			t.Errorf("%q: got %q, want %q", word, got, want)
		}
	}
}
