package verbs

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestQuoteText_EqualsMarshal(t *testing.T) {
	for _, text := range []string{"", "a", "\"\\\n\x00<>&\u2028", strings.Repeat("aé日😀\"", 20_000), strings.Repeat("x", 16<<10), strings.Repeat("😀", 16<<10)} {
		want, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(quoteText([]byte(text))); got != string(want) {
			t.Errorf("a text of %d bytes\n got: %d bytes, %.60q\nwant: %d bytes, %.60q", len(text), len(got), got, len(want), want)
		}
	}
}
