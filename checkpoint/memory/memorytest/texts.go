package memorytest

import (
	"fmt"
	"strings"

	"github.com/weftrun/weft/checkpoint/memory"
)

var textRules = []rule{
	{"TextAllWords", textAllWords},
	{"TextFolding", textFolding},
	{"TextRank", textRank},
	{"TextOfStrings", textOfStrings},
	{"TextAfterPut", textAfterPut},
	{"TextAndFilter", textAndFilter},
	{"HostileTexts", hostileTexts},
	{"BadTexts", badTexts},
}

func (p *probe) words(text, want string) {
	p.Helper()
	p.Same(fmt.Sprintf("a text finds what has all of its words: %q", text), p.keys(memory.Query{Text: text, Order: memory.ByKey}), want)
}

func textAllWords(p *probe) {
	p.put(home, "a", `{"t":"the quick brown fox"}`)
	p.put(home, "b", `{"t":"the lazy dog"}`)
	p.put(home, "c", `{"t":"the quick","u":["lazy"]}`)
	p.words("the", "a b c")
	p.words("quick lazy", "c")
	p.words("lazy, QUICK! lazy", "c")
	p.words("the cat", "")
	p.words("qui", "")
	p.words("quicker", "")
	p.words("the-fox", "a")
}

func textFolding(p *probe) {
	for key, text := range map[string]string{
		"ascii": "Straw_Berry straw.berry", "de": "ÄPFEL Straße", "el": "ΣΊΣΥΦΟΣ", "ja": "日本語", "num": "x2 42 4.2", "ru": "Привет МИР", "tr": "K", "comb": "cafe\u0301", "nfc": "caf\u00e9",
	} {
		p.put(home, key, fmt.Sprintf("%q", text))
	}
	for text, want := range map[string]string{
		"straw": "ascii", "BERRY": "ascii", "äpfel": "de", "strasse": "", "STRAßE": "de", "σίσυφος": "el", "日本語": "ja", "日本": "", "42": "num", "2": "num", "x2": "num",
		"привет мир": "ru", "k": "tr", "caf\u00e9": "nfc", "CAFE\u0301": "comb", "cafe": "",
	} {
		p.words(text, want)
	}
}

func textRank(p *probe) {
	p.put(home, "one", `"go go"`)
	p.put(home, "older", `"go"`)
	p.put(home, "three", `{"a":"Go, go","b":["GO!"]}`)
	p.put(home, "newer", `"go"`)
	list := p.search(memory.Query{Text: "go", Limit: 2})
	p.Same("most hits come first, then what was put last", keysOf(list), "three one newer older")
	var scores []float64
	for _, f := range list {
		scores = append(scores, f.Score)
	}
	p.Same("the score is the number of hits", scores, []float64{3, 2, 1, 1})
	p.put(home, "older", `"go"`)
	p.Same("putting again makes new", p.keys(memory.Query{Text: "go"}), "three one older newer")
}

func textOfStrings(p *probe) {
	p.put(home, "name", `{"apple":1}`)
	p.put([]string{"apple"}, "apple", `{"x":"pear"}`)
	p.put(home, "value", `{"x":{"y":[["apple"]]}}`)
	p.put(home, "number", `{"x":42,"y":true,"z":null}`)
	p.words("apple", "value")
	p.words("42", "")
	p.words("true", "")
	p.words("null", "")
}

func textAfterPut(p *probe) {
	p.put(home, "k", `"first words"`)
	p.put(home, "k", `"second words"`)
	p.words("first", "")
	p.words("second", "k")
	p.put(home, "k", `1`)
	p.words("words", "")
	p.put(home, "k", `"first again"`)
	p.words("first", "k")
}

func textAndFilter(p *probe) {
	p.put([]string{"a"}, "1", `{"t":"red apple","n":1}`)
	p.put([]string{"a"}, "2", `{"t":"red apple","n":2}`)
	p.put([]string{"b"}, "3", `{"t":"red apple","n":2}`)
	q := memory.Query{Prefix: []string{"a"}, Text: "apple red", Where: where("n", memory.Eq, `2`)}
	p.Same("text, filter and prefix all hold", p.keys(q), "2")
}

func hostileTexts(p *probe) {
	p.put(home, "k", `"one or two and three near not null select"`)
	p.put(home, "l", `"something else"`)
	for text, want := range map[string]string{
		"one OR else": "", "one AND two": "k", "NOT": "k", "one NOT two": "k", "one NOT else": "", "NEAR(one two)": "k", "one*": "k", "on*": "", `"one two"`: "k", "^one": "k", "words:one": "",
		"one' OR '1'='1": "", "one | else": "", "one & two": "k", "!one": "k", "one <-> two": "k", "one:*": "k", "(one": "k", `one"`: "k", "one; select": "k", "{one}": "k", "-one": "k", "+one": "k", "one%": "k", "on_": "",
	} {
		p.words(text, want)
	}
}

func badTexts(p *probe) {
	many := strings.Builder{}
	for i := range memory.MaxWords + 1 {
		fmt.Fprint(&many, "w", i, " ")
	}
	for _, text := range []string{" ", "*", "--", "%", "\x00", "!?", strings.Repeat("x ", memory.MaxText), many.String()} {
		_, err := p.store.Search(p.Context(), memory.Query{Text: text})
		p.Fails(fmt.Sprintf("%.20q is no text to search for", text), err, memory.ErrQuery)
	}
	long := strings.Repeat("x", 1000)
	p.put(home, "k", `"`+long+`"`)
	p.words(long, "k")
	p.words("x", "")
}
