package picture

import (
	"encoding/xml"
	"strings"
	"testing"
	"unicode/utf8"
)

func FuzzEscape(f *testing.F) {
	for _, seed := range []string{"", "a", `<b a="1" c='2'>&amp;]]>`, "\x00\x1f\x7f\u0085\ufffe\uffff", "\xff\xed\xa0\x80", "\u202e\u2066", "e\u0301👩‍👩‍👧"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var got struct {
			Attr string `xml:"a,attr"`
			Text string `xml:",chardata"`
			Any  []struct {
				XMLName xml.Name
			} `xml:",any"`
		}
		text := escape(s)
		if err := xml.Unmarshal([]byte(`<t a="`+text+`">`+text+`</t>`), &got); err != nil {
			t.Fatalf("escape(%q) = %q is not XML: %v", s, text, err)
		}
		if want := clean(s); got.Attr != want || got.Text != want || len(got.Any) > 0 {
			t.Errorf("escape(%q) is read as %q and %q with %d elements, want %q", s, got.Attr, got.Text, len(got.Any), want)
		}
		if again := clean(clean(s)); again != clean(s) {
			t.Errorf("clean(%q) = %q, and then %q", s, clean(s), again)
		}
		if !utf8.ValidString(cut(s, nameSize, 40)) && utf8.ValidString(s) {
			t.Errorf("cut(%q) is no UTF-8", s)
		}
		if n := textWidth(cut(clean(s), nameSize, 60), nameSize); n > 60 {
			t.Errorf("cut(%q) is %d pixels wide, want at most 60", s, n)
		}
	})
}

func TestCut_KeepsCharactersWhole(t *testing.T) {
	const family = "👩‍👩‍👧"
	if got := cut(strings.Repeat(family, 20), nameSize, 60); strings.ReplaceAll(got, family, "") != "…" {
		t.Errorf("got %q, want whole families", got)
	}
	if got := cut("é́x", nameSize, 100); got != "é́x" {
		t.Errorf("got %q", got)
	}
	if got := cut("station_2013_rainfall", nameSize, 90); got != "statio…infall" && !strings.HasPrefix(got, "stat") {
		t.Errorf("got %q, want both ends", got)
	}
}
