package retrieval_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weftrun/weft/capabilities/retrieval"
	"github.com/weftrun/weft/checkpoint/memory"
	"github.com/weftrun/weft/state/message"
)

func split(t testing.TB, text string, o retrieval.Options) []retrieval.Chunk {
	t.Helper()
	chunks, err := retrieval.Split(text, o)
	if err != nil {
		t.Fatal(err)
	}
	return chunks
}

// show formats chunks: the line, the headings and the text.
func show(chunks []retrieval.Chunk) string {
	var b strings.Builder
	for _, c := range chunks {
		fmt.Fprintf(&b, "%d %q %q\n", c.Line, c.Headings, c.Text)
	}
	return b.String()
}

const page = `Before.

# One

First
line.

## One A

` + "```go\n# no heading\n\nfunc f() {}\n```" + `

More.

# Two #
## Two A
Last.
`

func TestSplit_ByHeadings(t *testing.T) {
	want := `1 [] "Before."
3 ["One"] "# One\n\nFirst\nline."
8 ["One" "One A"] "## One A\n\n` + "```go\\n# no heading\\n\\nfunc f() {}\\n```" + `\n\nMore."
18 ["Two" "Two A"] "# Two #\n## Two A\nLast."
`
	if got := show(split(t, page, retrieval.Options{})); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestSplit_ByParagraphs(t *testing.T) {
	want := `1 [] "Before.\n\n# One\n\nFirst\nline."
8 ["One" "One A"] "## One A"
10 ["One" "One A"] "` + "```go\\n# no heading\\n\\nfunc f() {}\\n```" + `"
16 ["One" "One A"] "More.\n\n# Two #\n## Two A\nLast."
`
	if got := show(split(t, page, retrieval.Options{By: retrieval.ByParagraphs, MaxTokens: 9})); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestSplit_ByTokens(t *testing.T) {
	words := func(s string) (int, error) { return len(strings.Fields(s)), nil }
	got := show(split(t, "a b c\nd e  f g", retrieval.Options{By: retrieval.ByTokens, MaxTokens: 3, Overlap: 1, Count: words}))
	want := "1 [] \"a b c\"\n1 [] \"c\\nd e\"\n2 [] \"e  f g\"\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	got = show(split(t, "aaaaaaaaaaaaaaaaaaaa ééé", retrieval.Options{By: retrieval.ByTokens, MaxTokens: 2}))
	if want := "1 [] \"aaaaaaaa\"\n1 [] \"aaaaaaaa\"\n1 [] \"aaaa\"\n1 [] \"éé\"\n1 [] \"é\"\n"; got != want {
		t.Errorf("a word that is too long is cut between runes: got\n%s\nwant\n%s", got, want)
	}
}

func TestSplit_RefusesInvalidOptions(t *testing.T) {
	for name, o := range map[string]retrieval.Options{
		"an unknown place": {By: "pages"}, "a negative limit": {MaxTokens: -1}, "an overlap of all": {By: retrieval.ByTokens, MaxTokens: 5, Overlap: 5},
		"an overlap of paragraphs": {By: retrieval.ByParagraphs, Overlap: 1}, "a negative overlap": {By: retrieval.ByTokens, Overlap: -1},
	} {
		if _, err := retrieval.Split("text", o); !errors.Is(err, retrieval.ErrOptions) {
			t.Errorf("%s: got %v, want ErrOptions", name, err)
		}
	}
	broken := errors.New("no vocabulary")
	_, err := retrieval.Split("text", retrieval.Options{Count: func(string) (int, error) { return 0, broken }})
	if !errors.Is(err, broken) {
		t.Errorf("got %v, want the error of Count", err)
	}
}

// check demands what every split has: the chunks are parts of the text, in order, short enough, and
// have every word.
func check(t interface {
	Errorf(string, ...any)
}, text string, o retrieval.Options, chunks []retrieval.Chunk) {
	end, last := 0, -1
	for _, c := range chunks {
		if text[c.Start:c.End] != c.Text || c.Start <= last || c.Line != 1+strings.Count(text[:c.Start], "\n") {
			t.Errorf("%+v is not a part of the text, or not in order", c)
		}
		if c.Start > end && strings.TrimSpace(text[end:c.Start]) != "" {
			t.Errorf("%q is in no chunk", text[end:c.Start])
		}
		if n := message.ApproxTokens(c.Text); n > o.MaxTokens && len([]rune(c.Text)) > 1 {
			t.Errorf("%q has %d tokens, more than %d", c.Text, n, o.MaxTokens)
		}
		if o.Overlap == 0 && c.Start < end {
			t.Errorf("%+v shares words with the one before", c)
		}
		end, last = c.End, c.Start
	}
	if strings.TrimSpace(text[end:]) != "" {
		t.Errorf("%q is in no chunk", text[end:])
	}
}

func TestSplit_OfRandomTexts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.SampledFrom([]string{"word ", "a\n", "\n\n", "# Head\n", "## é\n", "```\n", "~~~\n", "  ", "日本語", "longer-words-than-that ", "\r\n", "\t", "#\n", "\xff"})
		text := strings.Join(rapid.SliceOfN(part, 0, 60).Draw(t, "text"), "")
		o := retrieval.Options{By: rapid.SampledFrom([]retrieval.By{"", "paragraphs", "tokens"}).Draw(t, "by"), MaxTokens: rapid.IntRange(1, 20).Draw(t, "max")}
		if o.By == retrieval.ByTokens {
			o.Overlap = rapid.IntRange(0, o.MaxTokens-1).Draw(t, "overlap")
		}
		chunks, err := retrieval.Split(text, o)
		if err != nil {
			t.Fatal(err)
		}
		check(t, text, o, chunks)
	})
}

func TestSplit_OfTheDocumentation(t *testing.T) {
	files, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, by := range []retrieval.By{retrieval.ByHeadings, retrieval.ByParagraphs, retrieval.ByTokens} {
			o := retrieval.Options{By: by, MaxTokens: 200}
			check(t, string(text), o, split(t, string(text), o))
		}
	}
}

func TestFuse_AddsReciprocalRanks(t *testing.T) {
	got := fmt.Sprint(retrieval.Fuse(1, []string{"a", "b", "c", "a"}, []string{"c", "d"}))
	if want := "[{c 0.75 [3 1]} {a 0.5 [1 0]} {b 0.3333333333333333 [2 0]} {d 0.3333333333333333 [0 2]}]"; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if got := retrieval.Fuse[int](0); len(got) != 0 {
		t.Errorf("got %v of nothing", got)
	}
}

// topics is an embedder that knows what some words are about.
func topics(_ context.Context, texts []string) (list [][]float32, err error) {
	for _, text := range texts {
		v := make([]float32, 2)
		for _, w := range strings.Fields(strings.ToLower(text)) {
			switch strings.Trim(w, ".?") {
			case "dog", "cat", "pet":
				v[0]++
			case "tea", "beverage":
				v[1]++
			}
		}
		list = append(list, v)
	}
	return list, nil
}

func TestSearch_JoinsWordsAndMeaning(t *testing.T) {
	x := &memory.Index{Store: &memory.Map{}, Embed: topics, Dims: 2}
	for key, text := range map[string]string{"a": "The dog sleeps.", "b": "A cat drinks tea.", "c": "The price of paper.", "d": "The tea is green."} {
		value, _ := json.Marshal(text)
		if _, err := x.Put(t.Context(), []string{"docs"}, key, value, memory.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	ask := func(s memory.Store, q retrieval.Query) string {
		t.Helper()
		r, err := retrieval.Search(t.Context(), s, q)
		if err != nil {
			t.Fatal(err)
		}
		text := ""
		for _, h := range r.Hits {
			text += fmt.Sprintf("%s(%d,%d) ", h.Key, h.ByWords, h.ByMeaning)
		}
		if r.Missing != nil {
			text += "missing: " + r.Missing.Error()
		}
		return strings.TrimSpace(text)
	}
	for _, tt := range []struct{ text, want string }{
		{"green beverage", "d(1,1) b(0,2) a(0,3)"},
		{"price", "c(1,0)"},
		{"which pet drinks", "b(1,2) a(0,1) d(0,3)"},
		{"", ""},
	} {
		if got := ask(x, retrieval.Query{Text: tt.text}); got != tt.want {
			t.Errorf("%q: got %s, want %s", tt.text, got, tt.want)
		}
	}
	if got := ask(x, retrieval.Query{Text: "green beverage", Limit: 1, Prefix: []string{"docs"}}); got != "d(1,1)" {
		t.Errorf("got %s, want one hit", got)
	}
	if got := ask(x, retrieval.Query{Text: "green beverage", Prefix: []string{"none"}}); got != "" {
		t.Errorf("got %s below another prefix", got)
	}
	if got := ask(x.Store, retrieval.Query{Text: "tea", Prefix: []string{"docs"}}); got != "b(1,0) d(2,0)" {
		t.Errorf("got %s of a store without vectors", got)
	}
	x.Embed = func(context.Context, []string) ([][]float32, error) { return nil, errors.New("the model is down") }
	if got := ask(x, retrieval.Query{Text: "tea"}); !strings.HasPrefix(got, "b(1,0) d(2,0) missing: ") || !strings.HasSuffix(got, "the model is down") {
		t.Errorf("got %s, want the words, and why the meaning is missing", got)
	}
	if _, err := retrieval.Search(t.Context(), x, retrieval.Query{Text: "tea", Limit: -1}); !errors.Is(err, memory.ErrQuery) {
		t.Errorf("got %v for a negative limit", err)
	}
	if _, err := retrieval.Search(t.Context(), x, retrieval.Query{Text: "tea", Prefix: []string{""}}); !errors.Is(err, memory.ErrNamespace) {
		t.Errorf("got %v for an invalid prefix", err)
	}
}
