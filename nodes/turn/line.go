package turn

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// line is a message with the commands at its beginning.
type line struct {
	calls []call
	rest  string
}

type call struct {
	*Command
	word   string // as it was written
	option string
	thread bool
	text   string // behind it, where it takes some
}

func (l line) names() string {
	var words []string
	for _, c := range l.calls {
		words = append(words, c.word)
	}
	return strings.Join(words, " ")
}

var commandWord = regexp.MustCompile(`^/(\?|[A-Za-z_][A-Za-z0-9_-]*)(!?)(?::([^\s/]*))?$`)

// parse takes the commands off a message. A word that only begins with a slash, such as /etc/hosts, is none.
func (c *Commands) parse(text string, passUnknown bool) (l line, err error) {
	l.rest = strings.TrimSpace(text)
	if escaped, ok := escape(l.rest); ok && strings.HasPrefix(escaped, "/") {
		return line{rest: escaped}, nil
	}
	var errs []error
	for {
		one, rest, ok := c.call(l.rest)
		if !ok || one.Command == nil && passUnknown {
			break
		}
		l.rest = rest
		if one.Command == nil {
			errs = append(errs, c.unknown(one.word))
		} else if err := errors.Join(one.check(), l.takeText(c, &one)); err != nil {
			errs = append(errs, err)
		}
		l.calls = append(l.calls, one)
		if one.Command != nil && one.Text && !one.own() {
			break
		}
	}
	if escaped, ok := escape(l.rest); ok && len(l.calls) > 0 {
		l.rest = escaped
	}
	return l, errors.Join(errs...)
}

// call reads the word at the beginning of text as a command; ok is false where it has not the form of one, and its
// Command is nil where there is none of this name.
func (c *Commands) call(text string) (one call, rest string, ok bool) {
	word := text
	if at := strings.IndexFunc(text, unicode.IsSpace); at >= 0 {
		word = text[:at]
	}
	m := commandWord.FindStringSubmatch(word)
	if m == nil {
		return one, text, false
	}
	one = call{Command: c.byName[strings.ToLower(m[1])], word: word, option: m[3], thread: m[2] != ""}
	return one, strings.TrimSpace(text[len(word):]), true
}

// own reports whether the gateway knows what to do with the text behind a command.
func (c *call) own() bool {
	return slices.Contains([]string{DoHelp, DoApprove, DoReject, DoEdit, DoCancel, DoNew}, c.Do)
}

// takeText gives a command the text behind it: of /edit one JSON value, of others all of it, unless the next word is
// a command again. "--" makes the rest text, whatever it says.
func (l *line) takeText(c *Commands, one *call) error {
	if !one.Text || !one.own() || l.rest == "" {
		return nil
	}
	if escaped, ok := escape(l.rest); ok {
		one.text, l.rest = escaped, ""
		return nil
	}
	if one.Do == DoEdit {
		dec, v := json.NewDecoder(strings.NewReader(l.rest)), json.RawMessage(nil)
		if dec.Decode(&v) == nil {
			one.text, l.rest = string(v), strings.TrimSpace(l.rest[dec.InputOffset():])
			return nil
		}
	}
	if next, _, ok := c.call(l.rest); ok && next.Command != nil && one.Do != DoHelp {
		return nil
	}
	one.text, l.rest = l.rest, ""
	return c.onlyText(one)
}

// onlyText refuses a reason that holds another decision: nobody can tell whether it is meant as one.
func (c *Commands) onlyText(one *call) error {
	if one.Do != DoReject && one.Do != DoCancel {
		return nil
	}
	for word := range strings.FieldsSeq(one.text) {
		if in, _, ok := c.call(word); ok && in.Command != nil && slices.Contains([]string{DoApprove, DoReject, DoEdit, DoCancel}, in.Do) {
			return one.wrong(`the reason holds %s; put the command with a reason last, or "--" before a reason that names commands`, word)
		}
	}
	return nil
}

// escape returns the text behind "--", which holds no commands.
func escape(text string) (string, bool) {
	rest, ok := strings.CutPrefix(text, "--")
	trimmed := strings.TrimSpace(rest)
	return trimmed, ok && (rest == "" || len(trimmed) < len(rest))
}

// check holds a call to what its command takes, and fills in the default.
func (c *call) check() error {
	fail := func(format string, args ...any) error {
		return &CommandError{Name: c.word, Why: fmt.Sprintf(format, args...)}
	}
	switch {
	case c.thread && c.Settings == nil:
		return fail(`"!" is for settings, and it sets nothing`)
	case c.AnyOption:
		return nil
	case c.option == "":
		c.option = c.Default
	}
	if len(c.Options) == 0 && c.option != "" {
		return fail("it takes no option")
	}
	if len(c.Options) > 0 && !slices.Contains(c.Options, c.option) {
		return fail("its options are %s", strings.Join(c.Options, ", "))
	}
	return nil
}
