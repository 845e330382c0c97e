package memory

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxWord is where a longer word is cut, in bytes: databases do not index longer ones.
const maxWord = 128

// Words returns the words of a text, in their order: each run of letters, digits and
// marks of any script, with the case folded rune by rune. Forms of a word are different
// words, and so are composed and decomposed letters.
func Words(text string) (list []string) {
	var word strings.Builder
	end := func() {
		if word.Len() > 0 {
			list = append(list, word.String())
			word.Reset()
		}
	}
	for _, r := range text {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r):
			end()
		case word.Len()+utf8.UTFMax <= maxWord:
			word.WriteRune(fold(r))
		}
	}
	end()
	return list
}

// fold returns the least of the runes that differ from r in case only.
func fold(r rune) rune {
	switch {
	case 'a' <= r && r <= 'z':
		return r - 'a' + 'A'
	case r < utf8.RuneSelf:
		return r
	}
	least := r
	for s := unicode.SimpleFold(r); s != r; s = unicode.SimpleFold(s) {
		least = min(least, s)
	}
	return least
}

// stringsOf yields the strings of a value, not the names in it, in an order that only
// depends on the value.
func stringsOf(tree any, yield func(string)) {
	switch v := tree.(type) {
	case string:
		yield(v)
	case []any:
		for _, e := range v {
			stringsOf(e, yield)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			stringsOf(v[name], yield)
		}
	}
}

// distinctWords returns the words of a value, sorted, each once.
func distinctWords(tree any) []string {
	var list []string
	stringsOf(tree, func(s string) { list = append(list, Words(s)...) })
	slices.Sort(list)
	return slices.Compact(list)
}

// hits returns how often words occur in a value; 0 if one of them does not.
func hits(tree any, words []string) (total int) {
	count := make(map[string]int, len(words))
	for _, w := range words {
		count[w] = 0
	}
	stringsOf(tree, func(s string) {
		for _, w := range Words(s) {
			if _, wanted := count[w]; wanted {
				count[w]++
			}
		}
	})
	for _, n := range count {
		if n == 0 {
			return 0
		}
		total += n
	}
	return total
}

// Facts returns a value as every database reads JSON alike: each name once, each character
// one that there is. It returns nil if a string holds a zero byte, which some refuse.
// It is for a [Table] that narrows by Scan.Contains.
func Facts(value []byte) []byte {
	tree, err := decode(value)
	if err != nil {
		return nil
	}
	data, err := json.Marshal(tree)
	if err != nil || !isPlain(data) {
		return nil
	}
	return data
}

// isPlain reports whether JSON written by Marshal has no zero byte in a string. It may return false
// for JSON without one.
func isPlain(data []byte) bool { return !strings.Contains(string(data), `\u0000`) }

// LongestWords returns the words of a text, each once, the longest first, and at most so many.
func LongestWords(text string, most int) (list []string) {
	words := Words(text)
	slices.SortStableFunc(words, func(a, b string) int { return cmp.Compare(utf8.RuneCountInString(b), utf8.RuneCountInString(a)) })
	for _, w := range words {
		if len(list) < most && !slices.Contains(list, w) {
			list = append(list, w)
		}
	}
	return list
}
