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

// parsedMessage is a message, split into the commands at its beginning and the rest.
type parsedMessage struct {
	calls []call
	rest  string
}

type call struct {
	*Command
	word   string // as the user wrote it
	option string
	thread bool
	text   string // the text after the command, if it takes text
}

func (l parsedMessage) names() string {
	var words []string
	for _, c := range l.calls {
		words = append(words, c.word)
	}
	return strings.Join(words, " ")
}

var commandWord = regexp.MustCompile(`^/(\?|[A-Za-z_][A-Za-z0-9_-]*)(!?)(?::([^\s/]*))?$`)

// parse splits a message into commands and the rest. A word such as /etc/hosts is no command.
func (c *Commands) parse(text string, passUnknown bool) (l parsedMessage, err error) {
	l.rest = strings.TrimSpace(text)
	if escaped, ok := escape(l.rest); ok && strings.HasPrefix(escaped, "/") {
		return parsedMessage{rest: escaped}, nil
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
		if one.Command != nil && one.Text && !one.takesText() {
			break
		}
	}
	if escaped, ok := escape(l.rest); ok && len(l.calls) > 0 {
		l.rest = escaped
	}
	return l, errors.Join(errs...)
}

// call parses the first word of text as a command. ok is false for a word that does not have the
// form of a command. The Command of an unknown name is nil.
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

// takesText reports whether the agent itself uses the text after a command.
func (c *call) takesText() bool {
	return slices.Contains([]string{DoHelp, DoApprove, DoReject, DoEdit, DoCancel, DoNew}, c.Do)
}

// takeText assigns the text after a command to it: one JSON value for /edit, all text for others,
// unless the next word is a command. "--" before text makes it plain text.
func (l *parsedMessage) takeText(c *Commands, one *call) error {
	if !one.Text || !one.takesText() || l.rest == "" {
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

// onlyText refuses a reason that contains another decision, because its meaning would be ambiguous.
func (c *Commands) onlyText(one *call) error {
	if one.Do != DoReject && one.Do != DoCancel {
		return nil
	}
	for word := range strings.FieldsSeq(one.text) {
		if in, _, ok := c.call(word); ok && in.Command != nil && slices.Contains([]string{DoApprove, DoReject, DoEdit, DoCancel}, in.Do) {
			return one.wrong(`the reason contains %s; put the command with a reason last, or "--" before a reason that names commands`, word)
		}
	}
	return nil
}

// escape returns the text after "--", in which no commands are recognized.
func escape(text string) (string, bool) {
	rest, ok := strings.CutPrefix(text, "--")
	trimmed := strings.TrimSpace(rest)
	return trimmed, ok && (rest == "" || len(trimmed) < len(rest))
}

// check validates the option of a call, and sets the default.
func (c *call) check() error {
	fail := func(format string, args ...any) error {
		return &CommandError{Name: c.word, Why: fmt.Sprintf(format, args...)}
	}
	switch {
	case c.thread && c.Settings == nil:
		return fail(`"!" must follow a command that changes settings`)
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
