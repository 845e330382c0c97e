package memory

import (
	"context"
	"strings"
	"unicode"

	longterm "github.com/weftrun/weft/checkpoint/memory"
	"github.com/weftrun/weft/conversation/session"
	"github.com/weftrun/weft/state/message"
)

// Statements is the built-in extraction. It returns each sentence of the user that has three words
// or more and is no question, without changes, in any language.
func Statements(_ context.Context, e session.Ended) (facts []Fact, err error) {
	for _, m := range e.Messages {
		if m.Role != message.RoleUser {
			continue
		}
		for _, s := range sentences(m.Text()) {
			if !question(s) && len(longterm.Words(s)) >= 3 {
				facts = append(facts, Fact{Text: s, Sources: []Source{{Message: m.ID}}})
			}
		}
	}
	return facts, nil
}

// sentences splits a text at line ends, and after punctuation that ends a sentence and is followed
// by white space.
func sentences(text string) (list []string) {
	rest := []rune(text)
	from := 0
	for i, r := range rest {
		last := i+1 == len(rest)
		if r == '\n' || strings.ContainsRune("。！？", r) || last || strings.ContainsRune(".!?…", r) && unicode.IsSpace(rest[i+1]) {
			if s := strings.TrimSpace(string(rest[from : i+1])); s != "" {
				list = append(list, s)
			}
			from = i + 1
		}
	}
	return list
}

func question(s string) bool {
	return strings.HasSuffix(s, "?") || strings.HasSuffix(s, "？") || strings.HasSuffix(s, "؟")
}
