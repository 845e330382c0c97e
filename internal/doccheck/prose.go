package doccheck

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

// terms maps words that this project does not use to the standard terms for them. A key is one
// or more words in lower case; "TestSubject" and "test_subject" have the words test and subject.
var terms = map[string]string{
	"voided":          "invalidated",
	"voids":           "invalidates",
	"void":            "invalidate",
	"sits":            "waits",
	"sit":             "wait",
	"rise":            "acquire",
	"interp":          "interpreter",
	"doors":           "packages",
	"door":            "package",
	"admits":          "dequeues",
	"admit":           "dequeue",
	"says":            "reports, names, describes",
	"afoot":           "inline",
	"on foot":         "inline",
	"ascent":          "escalation to the parent",
	"aside":           "parked",
	"bare":            "plain",
	"beside the head": "pending",
	"book":            "entry",
	"deaf":            "unresponsive",
	"deed":            "plan",
	"desk":            "agent",
	"disown":          "release",
	"disowned":        "released",
	"disowns":         "releases",
	"he":              "it",
	"heal":            "recover",
	"healed":          "recovered",
	"healing":         "recovery",
	"heals":           "recovers",
	"hear":            "receive",
	"hears":           "receives",
	"hire":            "start",
	"his":             "its",
	"house":           "module",
	"hurry":           "schedule now",
	"if waiting":      "on open questions",
	"keeper":          "owner",
	"kept":            "stored",
	"lane":            "concurrency key",
	"lanes":           "concurrency keys",
	"ledger":          "journal",
	"lend":            "transfer",
	"nobody":          "no reader, no process",
	"obey":            "apply",
	"obeys":           "applies",
	"patience":        "retry for",
	"plainly":         "as JSON",
	"reenter":         "resume",
	"rescue":          "on error",
	"ruling":          "decision",
	"rulings":         "decisions",
	"seat":            "permit",
	"seats":           "permits",
	"somebody":        "another process, a caller",
	"stairs":          "imports",
	"stand":           "be",
	"standing":        "being",
	"stands":          "is",
	"stood":           "was",
	"stories":         "traces",
	"story":           "trace",
	"swept":           "stats of a sweep",
	"take up":         "restore",
	"tell":            "report",
	"telling":         "reporting",
	"tells":           "reports",
	"the ground on":   "the empty state",
	"told":            "notified",
	"twin":            "reference model",
	"twins":           "reference models",
	"twisted":         "faulty",
	"whoever":         "the caller",
	"widen":           "start workers",
	"widens":          "starts workers",
}

const longestPhrase = 4 // words

// maxColumns bounds the lines of Markdown and of comments in Go, maxSentence the words of a
// sentence in a doc comment.
const (
	maxColumns  = 100
	maxSentence = 30
)

// problem is a place that breaks a rule.
type problem struct {
	line int
	text string
}

// fixedName matches what this project cannot rename: the tag of a field whose stored name must not
// change, and a type of the library that drives a browser.
var fixedName = regexp.MustCompile("`(json|yaml):[^`]*`|chromedp\\.Void")

// checkTerms finds the words of terms in a text. It skips what fixedName matches.
func checkTerms(text string) (found []problem) {
	for i, line := range strings.Split(text, "\n") {
		words := wordsOf(fixedName.ReplaceAllString(line, ""))
		for j := range words {
			for n := 1; n <= longestPhrase && j+n <= len(words); n++ {
				phrase := strings.Join(words[j:j+n], " ")
				if better, ok := terms[phrase]; ok {
					found = append(found, problem{i + 1, fmt.Sprintf("%q: use %q or another standard term", phrase, better)})
				}
			}
		}
	}
	return found
}

// wordsOf returns the words of a line in lower case. Identifiers are split at underscores and
// where a capital follows a small letter.
func wordsOf(line string) (words []string) {
	var b strings.Builder
	end := func() {
		if b.Len() > 0 {
			words = append(words, strings.ToLower(b.String()))
			b.Reset()
		}
	}
	lower := false
	for _, r := range line {
		if !unicode.IsLetter(r) {
			end()
			lower = false
			continue
		}
		if lower && unicode.IsUpper(r) {
			end()
		}
		lower = unicode.IsLower(r)
		b.WriteRune(r)
	}
	end()
	return words
}

// checkColumns finds long lines in Markdown, other than those of tables, code and links.
func checkColumns(markdown string) (found []problem) {
	code := false
	for i, line := range strings.Split(markdown, "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			code = !code
		}
		if code || strings.HasPrefix(strings.TrimSpace(line), "|") || strings.Contains(line, "](") {
			continue
		}
		if n := len([]rune(line)); n > maxColumns {
			found = append(found, problem{i + 1, fmt.Sprintf("the line has %d columns, more than %d", n, maxColumns)})
		}
	}
	return found
}

// endOfSentence matches where a sentence of a comment ends.
var endOfSentence = regexp.MustCompile(`[.!?:;](?:\s|$)`)

// checkComments finds long lines in the comments of a Go file, and long sentences in those that
// begin a line.
func checkComments(source string) (found []problem) {
	var comment []string
	start := 0
	end := func() {
		for _, p := range checkSentences(strings.Join(comment, "\n")) {
			found = append(found, problem{start + p.line, p.text})
		}
		comment = nil
	}
	for i, line := range strings.Split(source, "\n") {
		text, isComment := strings.CutPrefix(strings.TrimLeft(line, "\t"), "//")
		if !isComment || strings.HasPrefix(text, "go:") || strings.HasPrefix(text, "nolint") {
			end()
			continue
		}
		if n := len([]rune(strings.ReplaceAll(line, "\t", "    "))); n > maxColumns && strings.Contains(strings.TrimSpace(text), " ") {
			found = append(found, problem{i + 1, fmt.Sprintf("the comment has %d columns, more than %d", n, maxColumns)})
		}
		if len(comment) == 0 {
			start = i
		}
		comment = append(comment, text)
	}
	end()
	return found
}

// checkSentences finds long sentences in a comment. A blank line, a line of a list and indented
// code end a sentence.
func checkSentences(comment string) (found []problem) {
	words, first := 0, 1
	for i, line := range strings.Split(comment, "\n") {
		text := strings.TrimPrefix(line, " ")
		if text == "" || strings.HasPrefix(text, "\t") || strings.HasPrefix(text, "  ") && words == 0 ||
			strings.HasPrefix(strings.TrimSpace(text), "- ") || strings.HasPrefix(text, "#") {
			words, first = 0, i+1
			if text == "" || strings.HasPrefix(text, "\t") {
				continue
			}
		}
		for {
			at := endOfSentence.FindStringIndex(text)
			part := text
			if at != nil {
				part = text[:at[0]]
			}
			if words == 0 {
				first = i + 1
			}
			words += len(strings.Fields(part))
			if words > maxSentence {
				found = append(found, problem{first, fmt.Sprintf("the sentence has more than %d words", maxSentence)})
				words = -1 << 20 // once
			}
			if at == nil {
				break
			}
			words, text = 0, text[at[1]:]
		}
	}
	return found
}
