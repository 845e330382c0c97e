package message

import (
	"encoding/json"
	"unicode/utf8"

	"github.com/weftrun/weft/internal/validtext"
)

// Check implements [state.Checker]. Add checks each message; Err holds what LogOf found.
func (l logChannel) Check() error { return l.err }

// text checks that JSON would change no text of a message. Ids and names are for names and calls.
func (c *checker) text(m *Message) {
	c.textParts(m.Content, -1)
	for i, call := range m.Calls {
		if !utf8.ValidString(call.Name) || !utf8.Valid(call.Arguments) || !validMembers(call.Extra) ||
			call.Edited != nil && !utf8.Valid(call.Edited.Arguments) {
			c.fail(RuleText, "call %d: %s", i, notUTF8)
		}
	}
	for i, r := range m.Results {
		c.textParts(r.Content, i)
		if !utf8.ValidString(r.CallID) || !validMembers(r.Extra) {
			c.fail(RuleText, "result %d: %s", i, notUTF8)
		}
	}
	if !validMembers(m.Metadata) || !validMembers(m.Extra) || m.Usage != nil && !validMembers(m.Usage.Extra) {
		c.fail(RuleText, "metadata and unknown members: %s", notUTF8)
	}
}

const notUTF8 = "the text is not UTF-8, and JSON would change it"

// textParts is text for the content of a message, where result is -1, or of one of its results.
func (c *checker) textParts(parts []Part, result int) {
	for i := range parts {
		p := &parts[i]
		switch {
		case utf8.ValidString(p.Type) && utf8.ValidString(p.Text) && utf8.Valid(p.Data) && utf8.ValidString(p.URL) &&
			utf8.ValidString(p.MIME) && validMembers(p.Extra):
		case result < 0:
			c.fail(RuleText, "content: part %d: %s", i, notUTF8)
		default:
			c.fail(RuleText, "result %d: part %d: %s", result, i, notUTF8)
		}
	}
}

func validMembers(members map[string]json.RawMessage) bool {
	if len(members) == 0 {
		return true
	}
	_, ok := validtext.Check(members)
	return ok
}
