package author_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/internal/cli/author"
	"github.com/weftrun/weft/nodes"
)

const flow = `version: 1
name: hello
types: {person: {name: string, age: int}}
state:
  name: {type: string, required: true}
  who: person
  greeting: string
config: {tone: {type: string, default: kind}}
input: [name]
limits:
  shared:
    calls: {rate: 5/s}
nodes:
  greet:
    set: {greeting: "Hello"}
    next: [{if: state.name == "", to: ask}, {else: END}]
  ask:
    approval:
      title: Say it
    next: END
  each:
    for_each: {in: state.name, as: letter}
    set: {greeting: x}
    next: END
tests:
  - name: greets
    input: {name: Ada}
`

// at returns a text in which what is at a mark is replaced, and the place of a cursor "|".
func at(t *testing.T, old, now string) (text string, line, col int) {
	t.Helper()
	text = flow
	if old != "" {
		if strings.Count(flow, old) != 1 {
			t.Fatalf("%q is not once in the text", old)
		}
		text = strings.Replace(flow, old, now, 1)
	} else {
		text += now
	}
	before, after, ok := strings.Cut(text, "|")
	if !ok {
		t.Fatalf("%q has no cursor", now)
	}
	last := before[strings.LastIndexByte(before, '\n')+1:]
	return before + after, strings.Count(before, "\n") + 1, len([]rune(last)) + 1
}

func TestComplete(t *testing.T) {
	f := &author.Folder{Options: func(string) (workflow.Options, error) { return workflow.Options{Kinds: nodes.Kinds()}, nil }}
	for _, c := range []struct {
		old, now string
		from     string   // the word that is replaced
		want     []string // are offered
		not      []string
		about    string
	}{
		{old: "name: hello\n", now: "na|\n", from: "na", want: []string{"name: "}, not: []string{"nodes: "}},
		{old: "name: hello\n", now: "de|\n", from: "de", want: []string{"defaults: ", "description: "}, not: []string{"nodes: ", "name: "}},
		{old: "  ask:\n", now: "  ask:\n    ti|\n", from: "ti", want: []string{"timeout: "}},
		{old: "  ask:\n", now: "  ask:\n    |\n", want: []string{"llm: ", "http: ", "retry: "}, not: []string{"next: ", "approval: "}},
		{old: "      title: Say it", now: "      title: Say it\n      |", want: []string{"expires: ", "allow: "}, not: []string{"title: ", "llm: "}},
		{old: "to: ask}", now: "to: |ask}", from: "ask", want: []string{"ask", "greet", "each", "END"}, about: "ask: a node"},
		{old: "to: ask}", now: "to: gr|", from: "gr", want: []string{"greet"}, not: []string{"ask"}},
		{old: "    next: [{if", now: "    next: [|{if", want: []string{"END", "ask"}},
		{old: "[{if: state.name == \"\", to: ask}, {else: END}]", now: "\n      - |\n", want: []string{"if: ", "to: ", "else: ", "ask", "END"}},
		{old: "{if: state.name", now: "{|: state.name", want: []string{"if"}, not: []string{"if: "}},
		{old: "state.name ==", now: "state.|name ==", from: "name", want: []string{"greeting", "name", "who"}, about: "name: a field of the state, string"},
		{old: "state.name ==", now: "config.|", want: []string{"tone"}, not: []string{"name"}},
		{old: "state.name ==", now: "st|", from: "st", want: []string{"state", "string"}},
		{old: "state.name ==", now: "state.who.|", want: []string{"age", "name"}, not: []string{"greeting"}},
		{old: "\"Hello\"", now: "\"Hello ${{ state.n|", from: "n", want: []string{"name"}, not: []string{"greeting"}},
		{old: "\"Hello\"", now: "\"Hello na|", not: []string{"name"}},
		{old: "title: Say it", now: "title: |\n        Say ${{ state.gr¦ }}", from: "gr", want: []string{"greeting"}},
		{old: "greeting: x", now: "greeting: \"${{ le|", from: "le", want: []string{"letter"}},
		{old: "{in: state.name", now: "{in: state.|", want: []string{"who"}},
		{old: "greeting: string", now: "greeting: pe|", from: "pe", want: []string{"person"}, not: []string{"string"}},
		{old: "{type: string, required", now: "{type: s|, required", from: "s", want: []string{"string"}},
		{old: "required: true", now: "required: |", want: []string{"true", "false"}},
		{old: "required: true", now: "sc|", from: "sc", want: []string{"scope: "}, not: []string{"type: "}},
		{old: "required: true", now: "scope: |", want: []string{"thread", "turn"}},
		{old: "input: [name]", now: "input: [name, |", want: []string{"greeting"}},
		{old: "    set: {greeting: x}", now: "    limit: |\n    set: {|greeting: x}", want: []string{"calls"}},
		{old: "{greeting: \"Hello\"}", now: "{gr|: 1}", from: "gr", want: []string{"greeting"}},
		{old: "input: {name: Ada}", now: "input: {n|", from: "n", want: []string{"name: "}},
		{now: "# a re|"},
		{now: "  - na|", from: "na", want: []string{"name: "}},
	} {
		now := c.now
		if strings.Contains(now, "¦") { // the other bar is of YAML
			now = strings.NewReplacer("|", "\x00", "¦", "|").Replace(now)
		} else if n := strings.Index(now, "|"); n >= 0 {
			now = now[:n+1] + strings.ReplaceAll(now[n+1:], "|", "")
		}
		text, line, col := at(t, c.old, now)
		text = strings.ReplaceAll(text, "\x00", "|")
		got, err := f.Complete("", text, line, col)
		if err != nil {
			t.Fatal(err)
		}
		var offered []string
		for _, one := range got.Choices {
			offered = append(offered, one.Write)
		}
		row := []rune(strings.Split(text, "\n")[line-1])
		if word := string(row[max(0, min(got.From-1, len(row))):max(0, min(got.To-1, len(row)))]); len(c.want) > 0 && word != c.from {
			t.Errorf("%q: the word is %q, want %q", c.now, word, c.from)
		}
		for _, w := range c.want {
			if !slices.Contains(offered, w) {
				t.Errorf("%q: offered are %q, want %q", c.now, offered, w)
			}
		}
		for _, w := range c.not {
			if slices.Contains(offered, w) {
				t.Errorf("%q: offered are %q, not wanted is %q", c.now, offered, w)
			}
		}
		if c.about != "" && got.About != c.about {
			t.Errorf("%q: the word is %q, want %q", c.now, got.About, c.about)
		}
	}
}

// Any text and any place has an answer.
func FuzzComplete(f *testing.F) {
	f.Add(flow, 3, 5)
	f.Add("a: {b: [\"c", 1, 9)
	f.Add("a: |\n  b\n]}", 3, 2)
	folder := &author.Folder{Options: func(string) (workflow.Options, error) { return workflow.Options{}, nil }}
	f.Fuzz(func(t *testing.T, text string, line, col int) {
		if _, err := folder.Complete("", text, line, col); err != nil {
			t.Error(err)
		}
	})
}
