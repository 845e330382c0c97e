package workflow

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// member is one entry of a mapping.
type member struct {
	key, value *yaml.Node
	misspelt   bool // the file has another key; it was reported, and key has the one that was meant
}

// object is a mapping, in the order of the file. Its keys are text and differ: see guard.checkKeys.
type object []member

// get returns the value of a key, or nil.
func (o object) get(key string) *yaml.Node {
	for _, m := range o {
		if m.key.Value == key {
			return m.value
		}
	}
	return nil
}

// deref returns the node that an alias refers to.
func deref(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

// object returns n as a mapping with any keys.
func (s *source) object(n *yaml.Node, what string) (object, bool) {
	n = deref(n)
	if n.Kind != yaml.MappingNode {
		s.fail(n, "WF101", "%s must be a mapping, not %s%s", what, describe(n), meantMapping(what, n))
		return nil, false
	}
	o := make(object, 0, len(n.Content)/2)
	for i := 0; i < len(n.Content); i += 2 {
		o = append(o, member{key: n.Content[i], value: deref(n.Content[i+1])})
	}
	return o, true
}

// mainKeys has, by the name of a mapping, the key that was probably meant if a file has a scalar in
// place of the mapping: "retry: 3" means {max: 3}.
var mainKeys = map[string]string{"retry": "max", "cache": "ttl", "for_each": "in", "limits": "steps", "wait": "for"}

// meantMapping returns a suffix for an error that suggests the mapping that a scalar probably
// means. It returns "" if there is none.
func meantMapping(what string, n *yaml.Node) string {
	key, text := mainKeys[what], shorten(n.Value)
	if key == "" || n.Kind != yaml.ScalarNode || n.Value == "" {
		return ""
	}
	if strings.ContainsAny(text, ",[]{}:#\"'") {
		text = strconv.Quote(text)
	}
	return fmt.Sprintf("; did you mean {%s: %s}?", key, text)
}

// tooLong reports an object with more than maxNodes members. what names the members.
func (s *source) tooLong(n *yaml.Node, o object, what string) bool {
	if len(o) > maxNodes {
		s.fail(n, "WF603", "there are %d %s; the maximum is %d", len(o), what, maxNodes)
	}
	return len(o) > maxNodes
}

// record returns n as a mapping, and reports keys that are not among keys. A misspelt key is read
// as the one that was meant, so that one mistake is not reported several times.
func (s *source) record(n *yaml.Node, what string, keys ...string) (object, bool) {
	o, ok := s.object(n, what)
	for i, m := range o {
		if slices.Contains(keys, m.key.Value) {
			continue
		}
		s.unknown(m.key, "WF102", "known are "+strings.Join(keys, ", "), "unknown key %q in %s", what, keys)
		if best := meant(m.key.Value, keys); best != "" && o.get(best) == nil && elsewhere[m.key.Value] == "" {
			key := *m.key
			key.Value = best
			o[i] = member{&key, m.value, true}
		}
	}
	return o, ok
}

// elsewhere has, for keys of other workflow languages, what to write instead.
var elsewhere = map[string]string{
	"concurrency":     "the limit of a node is limit: NAME, declared under limits.shared; for_each has max_parallel",
	"on_change":       "a thread continues with the current file if its pending nodes still exist; weft replay shows the effect of a change",
	"persist":         "each run of another workflow starts from its input alone",
	"response_schema": "write answer: TYPE, with the type under types",
	"stream":          "remove it: text is always streamed to subscribers",
	"tools":           "use the kind agent for a model with tools",
}

// unknown reports an unknown key. The format takes the key and the name of its section.
func (s *source) unknown(key *yaml.Node, code Code, hint, format, what string, known []string) {
	if h, ok := elsewhere[key.Value]; ok {
		s.failAt(key.Line, key.Column, code, h, format, key.Value, what)
		return
	}
	s.failAt(key.Line, key.Column, code, hint, format+"%s", key.Value, what, didYouMean(key.Value, known))
}

// list returns the items of a sequence, with aliases resolved.
func (s *source) list(n *yaml.Node, what string) []*yaml.Node {
	n = deref(n)
	if n.Kind != yaml.SequenceNode {
		s.fail(n, "WF103", "%s must be a list, not %s", what, describe(n))
		return nil
	}
	items := make([]*yaml.Node, len(n.Content))
	for i, c := range n.Content {
		items[i] = deref(c)
	}
	return items
}

func (s *source) string(n *yaml.Node, what string) (string, bool) {
	n = deref(n)
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" {
		s.fail(n, "WF104", "%s must be text, not %s%s", what, describe(n), quoteIt(n))
		return "", false
	}
	return n.Value, true
}

func quoteIt(n *yaml.Node) string {
	if n.Kind != yaml.ScalarNode || n.Value == "" {
		return ""
	}
	return fmt.Sprintf("; quote it: %q", n.Value)
}

func (s *source) bool(n *yaml.Node, what string) bool {
	v, ok := s.scalar(n)
	b, is := v.(bool)
	if ok && !is {
		s.fail(n, "WF105", "%s must be true or false, not %s", what, describe(n))
	}
	return b
}

// maxCount is the greatest count in a workflow.
const maxCount = 1 << 30

// count returns a whole number from 1 to maxCount.
func (s *source) count(n *yaml.Node, what string) int {
	n = deref(n)
	if _, err := strconv.ParseInt(n.Value, 10, 64); err != nil && decimal.MatchString(n.Value) && n.ShortTag() != "!!str" {
		s.fail(n, "WF106", "%s must be a whole number from 1 to %d, not %s", what, maxCount, shorten(n.Value))
		return 0
	}
	v, ok := s.scalar(n)
	i, is := v.(int64)
	switch {
	case !ok:
		return 0
	case is && i > maxCount:
		s.fail(n, "WF106", "%s must be at most %d, not %s", what, maxCount, describe(n))
		return 0
	case !is || i < 1:
		s.fail(n, "WF106", "%s must be a whole number of at least 1, not %s", what, describe(n))
		return 0
	}
	return int(i)
}

func (s *source) duration(n *yaml.Node, what string) time.Duration {
	n = deref(n)
	d, err := time.ParseDuration(n.Value)
	if n.Kind != yaml.ScalarNode || err != nil || d <= 0 {
		s.fail(n, "WF107", "%s must be a time such as 30s, 5m or 1h30m, not %s", what, describe(n))
		return 0
	}
	return d
}

var (
	decimal = regexp.MustCompile(`^[-+]?(0|[1-9][0-9]*)$`)
	number  = regexp.MustCompile(`^[-+]?[0-9]+(\.[0-9]*)?([eE][-+]?[0-9]+)?$`)
)

// scalar returns the value of a scalar: nil, bool, int64, float64 or string. It reports scalars
// that YAML reads otherwise than they look, such as 0x10 and 2024-01-31.
func (s *source) scalar(n *yaml.Node) (any, bool) {
	n = deref(n)
	switch n.ShortTag() {
	case "!!str":
		return n.Value, !s.tooLarge(n)
	case "!!null":
		return nil, true
	case "!!bool":
		return strings.EqualFold(n.Value, "true"), true
	case "!!int":
		if i, err := strconv.ParseInt(strings.TrimPrefix(n.Value, "+"), 10, 64); err == nil && decimal.MatchString(n.Value) {
			return i, true
		}
		s.fail(n, "WF012", "%s is not a plain decimal number that fits in 64 bits; write it as one, or quote it: %q", n.Value, n.Value)
	case "!!float":
		if decimal.MatchString(n.Value) {
			s.fail(n, "WF012", "%s does not fit in 64 bits; quote it: %q", n.Value, n.Value)
			return nil, false
		}
		if f, err := strconv.ParseFloat(n.Value, 64); err == nil && !strings.ContainsAny(n.Value, "_nN") {
			return f, true
		}
		s.fail(n, "WF012", "%s is not a plain decimal number; write it as one, or quote it: %q", n.Value, n.Value)
	case "!!timestamp":
		s.fail(n, "WF012", "%s would be read as a date, which is not supported; quote it: %q", n.Value, n.Value)
	default:
		s.fail(n, "WF012", "%s is not a supported value", describe(n))
	}
	return nil, false
}

// tooLarge reports a number that YAML takes for text because no float holds it.
func (s *source) tooLarge(n *yaml.Node) bool {
	if n.Style != 0 || !number.MatchString(n.Value) {
		return false
	}
	s.fail(n, "WF012", "%s is too large for a number; quote it if it is text: %q", shorten(n.Value), n.Value)
	return true
}

// constant returns the value of a node: a scalar, a []any or a map[string]any.
func (s *source) constant(n *yaml.Node) (any, bool) {
	n = deref(n)
	switch n.Kind {
	case yaml.SequenceNode:
		list, all := []any{}, true
		for _, c := range n.Content {
			v, ok := s.constant(c)
			list, all = append(list, v), all && ok
		}
		return list, all
	case yaml.MappingNode:
		m, all := map[string]any{}, true
		for i := 0; i < len(n.Content); i += 2 {
			v, ok := s.constant(n.Content[i+1])
			m[n.Content[i].Value], all = v, all && ok
		}
		return m, all
	}
	return s.scalar(n)
}

// describe names the type of a YAML node, for messages.
func describe(n *yaml.Node) string {
	n = deref(n)
	switch {
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.ShortTag() == "!!null":
		return "nothing"
	case n.ShortTag() == "!!str":
		return fmt.Sprintf("%q", shorten(n.Value))
	}
	return n.Value
}

func shorten(s string) string {
	if r := []rune(s[:min(len(s), 200)]); len(r) > 40 {
		return string(r[:39]) + "…"
	}
	return s
}
