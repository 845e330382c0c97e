package message

import (
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"
)

// Validate returns an *InvalidError with everything for which a provider would reject the
// conversation. Problems are invalid messages, missing or duplicate ids, results without a call,
// second results, and calls without a result. A call that has no result yet has the rule
// RuleUnanswered.
func Validate(ms []Message) error {
	var problems []Problem
	seen := map[string]int{}
	for i, m := range ms {
		problems = append(problems, check(i, &m)...)
		if m.ID == "" {
			problems = append(problems, Problem{i, "", RuleID, "it has no id"})
			continue
		}
		if first, dup := seen[m.ID]; dup {
			problems = append(problems, Problem{i, m.ID, RuleDuplicate, fmt.Sprintf("message %d has the same id", first)})
		} else {
			seen[m.ID] = i
		}
	}
	problems = append(problems, pair(ms).problems(ms)...)
	slices.SortStableFunc(problems, func(a, b Problem) int { return a.Index - b.Index })
	return invalid(problems)
}

// checker collects what is wrong with one message by itself.
type checker struct {
	index    int
	id       string
	problems []Problem
}

func (c *checker) fail(r Rule, format string, args ...any) {
	c.problems = append(c.problems, Problem{c.index, c.id, r, fmt.Sprintf(format, args...)})
}

// check returns what is wrong with a message that is looked at alone. It allocates nothing for a
// valid message of text, because each write to a log calls it.
func check(i int, m *Message) []Problem {
	c := checker{index: i, id: m.ID}
	c.names(m)
	c.mix(m)
	c.parts(m.Role, m.Content, nil)
	c.calls(m.Calls)
	for i := range m.Results {
		c.result(m.Role, &m.Results[i])
	}
	if len(m.Extra) > 0 {
		c.extra("the message", m.Extra, messageFields)
		c.alias("the message", m.Extra, "timestamp", "created, as RFC 3339 or milliseconds since 1970", m.Created.IsZero())
		c.alias("the message", m.Extra, "messageId", "id", true)
	}
	if m.Usage != nil {
		c.extra("the usage", m.Usage.Extra, usageFields)
	}
	c.text(m)
	return c.problems
}

func (c *checker) result(role Role, r *Result) {
	if r.CallID == "" {
		c.fail(RuleID, "a result does not say which call it answers")
	}
	c.parts(role, r.Content, r)
	if len(r.Extra) > 0 {
		c.extra("a result", r.Extra, resultFields)
		c.alias("a result", r.Extra, "result", "content", silent(r.Content))
	}
}

func (c *checker) names(m *Message) {
	if r, err := ParseRole(string(m.Role)); err != nil {
		c.fail(RuleRole, "%v", err)
	} else if r != m.Role {
		c.fail(RuleRole, "the role %q is written %q", m.Role, r)
	}
	for _, s := range []string{m.ID, m.Name} {
		if !utf8.ValidString(s) {
			c.fail(RuleID, "%q is not UTF-8, and would not be the same when it is stored", s)
		}
	}
}

// mix checks that what the message holds belongs to its role.
func (c *checker) mix(m *Message) {
	if len(m.Calls) > 0 && m.Role != RoleAssistant {
		c.fail(RuleMix, "a %s message makes no calls", m.Role)
	}
	if len(m.Results) > 0 && m.Role != RoleTool {
		c.fail(RuleMix, "a %s message has no results", m.Role)
	}
	switch m.Role {
	case RoleTool:
		if !silent(m.Content) {
			c.fail(RuleMix, "the content of a tool message must be in its results")
		}
		if len(m.Results) == 0 {
			c.fail(RuleMix, "a tool message has at least one result")
		}
	case RoleSystem, RoleUser:
		if silent(m.Content) {
			c.fail(RuleMix, "a %s message must have content", m.Role)
		}
	}
}

// silent reports whether there are no parts, so that JSON has no content.
func silent(parts []Part) bool {
	return len(parts) == 0 || len(parts) == 1 && parts[0].plain() && parts[0].Text == ""
}

// parts checks the content of a message, or that of one of its results.
func (c *checker) parts(role Role, parts []Part, of *Result) {
	for i := range parts {
		p := &parts[i]
		if p.Type == TypeImage && role == RoleSystem {
			c.fail(RuleMix, "a system message shows no images")
		}
		if why := p.wrong(); why != "" {
			c.fail(RulePart, "%s: %s", partName(of, i), why)
		}
		if len(p.Extra) > 0 {
			c.extra(partName(of, i), p.Extra, p.fields())
		}
	}
}

// partName returns the name in errors of part i of the content of a message, or of one of its
// results.
func partName(of *Result, i int) string {
	if of == nil {
		return fmt.Sprintf("content: part %d", i)
	}
	return fmt.Sprintf("the result of call %q: part %d", of.CallID, i)
}

// wrong returns why a part is invalid, or "".
func (p *Part) wrong() string {
	image := p.URL != "" || len(p.Bytes) > 0 || p.MIME != ""
	switch p.Type {
	case "":
		return "it has no type"
	case TypeText:
		if p.Data != nil || image {
			return "a text holds text alone"
		}
	case TypeData:
		if !json.Valid(p.Data) {
			return "its data is not JSON"
		}
		if p.Text != "" || image {
			return "data holds data alone"
		}
	case TypeImage:
		return p.wrongImage()
	default:
		if p.Text != "" || p.Data != nil || image {
			return fmt.Sprintf("the fields of a %q must be in Extra", p.Type)
		}
	}
	return ""
}

func (p *Part) wrongImage() string {
	switch {
	case p.Text != "" || p.Data != nil:
		return "an image holds an image alone"
	case (p.URL == "") == (len(p.Bytes) == 0):
		return "an image has either a url or bytes"
	case len(p.Bytes) > 0 && p.MIME == "":
		return "bytes of an image need their media type"
	}
	return ""
}

// foreign reports whether m has raw JSON of the caller, or a time. These may have no JSON form; all
// other data that check accepts has one. Arguments that are not JSON are stored as text.
func (m *Message) foreign() bool {
	foreign := len(m.Metadata) > 0 || len(m.Extra) > 0 || !m.Created.IsZero() || m.Usage != nil && len(m.Usage.Extra) > 0
	for _, c := range m.Calls {
		foreign = foreign || len(c.Extra) > 0
	}
	for _, r := range m.Results {
		foreign = foreign || len(r.Extra) > 0 || slices.ContainsFunc(r.Content, Part.foreign)
	}
	return foreign || slices.ContainsFunc(m.Content, Part.foreign)
}

func (p Part) foreign() bool { return len(p.Extra) > 0 }

func (c *checker) calls(calls []Call) {
	if len(calls) == 0 {
		return
	}
	seen := make(map[string]bool, len(calls))
	for i, call := range calls {
		switch {
		case call.ID == "":
			c.fail(RuleID, "call %d has no id", i)
		case seen[call.ID]:
			c.fail(RuleDuplicate, "it makes two calls %q", call.ID)
		case !utf8.ValidString(call.ID):
			c.fail(RuleID, "the id of call %d is not UTF-8", i)
		}
		if call.Name == "" {
			c.fail(RuleMix, "call %d names no tool", i)
		}
		seen[call.ID] = true
		if len(call.Extra) == 0 && call.Edited == nil {
			continue
		}
		known := callFields
		if call.Edited != nil {
			known = append(slices.Clip(known), editField)
			if !utf8.ValidString(call.Edited.By) {
				c.fail(RuleForm, "the name of the person who edited call %d is not UTF-8", i)
			}
		}
		c.extra(fmt.Sprintf("call %d", i), call.Extra, known)
	}
}

var (
	messageFields = []string{"id", "role", "name", "content", "tool_calls", "tool_results", "metadata", "usage", "created"}
	callFields    = []string{"id", "name", "arguments", "arguments_text"}
	resultFields  = []string{"tool_call_id", "content", "is_error"}
	usageFields   = []string{"input_tokens", "output_tokens", "cached_tokens"}
)

func (p *Part) fields() []string {
	switch p.Type {
	case TypeText:
		return []string{"type", "text"}
	case TypeData:
		return []string{"type", "data"}
	case TypeImage:
		return []string{"type", "url", "bytes", "mime"}
	}
	return []string{"type"}
}

// extra checks that the unknown fields are none of the known ones.
func (c *checker) extra(where string, extra map[string]json.RawMessage, known []string) {
	for _, name := range known {
		if _, dup := extra[name]; dup {
			c.fail(RuleForm, "%s has %q in Extra, which is a field of its own", where, name)
		}
	}
}

// alias refuses in Extra the name that another system has for a field of its own, unless the field
// is set.
func (c *checker) alias(where string, extra map[string]json.RawMessage, name, field string, missing bool) {
	if _, there := extra[name]; there && missing {
		c.fail(RuleForm, "%s has %q in Extra, which must be written as %s", where, name, field)
	}
}
