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

// TestNearest_SwappedLettersAreOneMistake has words so short that two changes would be too many.
func TestNearest_SwappedLettersAreOneMistake(t *testing.T) {
	known := []string{"new", "exit", "edit", "task", "end", "_start"}
	for word, want := range map[string]string{
		"nwe": "new", "exti": "exit", "edti": "edit", "tsak": "task", "atsk": "task", "edn": "end", "Nwe": "new",
		"ewn": "", "ksat": "", "_tsart": "_start",
	} {
		if got := suggest.Nearest(word, known); got != want {
			t.Errorf("%q: got %q, want %q", word, got, want)
		}
	}
}

func TestMisspelt_OneOrTwoLetters(t *testing.T) {
	known := []string{"max_retries", "planning_mode_enabled"}
	for word, want := range map[string]string{
		"max_retries": "", "max_retrys": "max_retries", "Max_Retries": "max_retries", "planing_mode_enabled": "planning_mode_enabled",
		"scan_mode_enabled": "", "tries": "", "": "",
	} {
		if got := suggest.Misspelt(word, known); got != want {
			t.Errorf("%q: got %q, want %q", word, got, want)
		}
	}
}
