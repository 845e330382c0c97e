package workflow

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/weftrun/weft/graph"
)

// policyKeys are the keys of a node's policy, which defaults may give for all nodes.
var policyKeys = []string{"retry", "timeout", "idle_timeout", "limit", "on_error"}

// policy is how a node is run, and which parts of that were written.
type policy struct {
	graph.Policy
	limit   ref
	onError *onError
	given   map[string]bool // the keys of policyKeys that were written
}

// policyKey decodes one key of a policy; false means that it is another.
func (s *source) policyKey(p *policy, m member) bool {
	switch m.key.Value {
	case "retry":
		p.Retry = s.retry(m.value, "retry")
	case "timeout":
		p.Timeout = s.duration(m.value, "timeout")
	case "idle_timeout":
		p.Idle = s.duration(m.value, "idle_timeout")
	case "limit":
		p.limit.name, _ = s.string(m.value, "limit")
		p.limit.at, p.Limit = m.value, p.limit.name
	case "on_error":
		p.onError = s.onError(m.value)
	default:
		return false
	}
	p.given = withKey(p.given, m.key.Value)
	return true
}

func withKey(set map[string]bool, key string) map[string]bool {
	if set == nil {
		set = map[string]bool{}
	}
	set[key] = true
	return set
}

// defaults decodes the policy of all nodes that say nothing themselves.
func (s *source) defaults(n *yaml.Node) (p policy) {
	o, _ := s.record(n, "defaults", policyKeys...)
	for _, m := range o {
		s.policyKey(&p, m)
	}
	return p
}

// fillDefaults applies the defaults that n does not set itself. Bounds of work apply only to nodes
// that do work. A default handler does not apply to the nodes that it leads to.
func (p *policy) fillDefaults(n *node, works bool) {
	missing := func(key string) bool {
		return p.given[key] && !n.given[key] && (works || key == "retry" || key == "on_error")
	}
	if missing("retry") {
		n.Retry = p.Retry
	}
	if missing("timeout") {
		n.Timeout = p.Timeout
	}
	if missing("idle_timeout") {
		n.Idle = p.Idle
	}
	if missing("limit") {
		n.limit, n.Limit = p.limit, p.Limit
	}
	leads := func(r ref) bool { return r.name == n.name }
	if missing("on_error") && !slices.ContainsFunc(p.onError.targets(), leads) {
		n.onError = p.onError
	}
}

// retry decodes the key what, which has the form of retry.
func (s *source) retry(n *yaml.Node, what string) graph.Retry {
	r := graph.Retry{Attempts: 3, If: retryable}
	o, _ := s.record(n, what, "max", "initial", "max_delay", "backoff", "jitter", "on")
	for _, m := range o {
		switch m.key.Value {
		case "max":
			r.Attempts = s.count(m.value, what+".max")
		case "initial":
			r.Initial = graph.NoWait
			if !isZeroTime(m.value) {
				r.Initial = s.duration(m.value, what+".initial")
			}
		case "max_delay":
			r.Max = s.duration(m.value, what+".max_delay")
		case "backoff":
			if s.choice(m.value, "backoff", "exponential", "constant") == "constant" {
				r.Multiplier = 1
			}
		case "jitter":
			if s.bool(m.value, "jitter") {
				r.Jitter = 0.5
			}
		case "on":
			on := s.names(m.value, what+".on")
			for _, r := range on {
				s.checkWorth(r, what+".on")
			}
			r.If = retryOn(on)
		}
	}
	if r.Max > 0 && r.Max < max(r.Initial, time.Millisecond) {
		s.fail(o.get("max_delay"), "WF118", "max_delay must not be shorter than initial")
	}
	return r
}

// isZeroTime reports whether n is a time of zero, such as 0s: the next attempt follows at once.
func isZeroTime(n *yaml.Node) bool {
	n = deref(n)
	d, err := time.ParseDuration(n.Value)
	return n.Kind == yaml.ScalarNode && err == nil && d == 0
}

var (
	httpCode  = regexp.MustCompile(`^http:[1-5x][0-9x]{2}$`)
	plainCode = regexp.MustCompile(`^[1-5][0-9x]{2}$`)
	worthsOwn = []string{graph.KindError, graph.KindTimeout}
)

// checkWorth reports a word of the list what that no failure can have, or that is nearly one of
// those that many have. Any other may be the code of a program's own errors.
func (s *source) checkWorth(r ref, what string) {
	const hint = "known are error, timeout, and codes such as http:503 and http:5xx; errors of the program may have other codes"
	fail := func(format string, args ...any) { s.failAt(r.at.Line, r.at.Column, "WF134", hint, format, args...) }
	switch near := didYouMean(r.name, worthsOwn); {
	case slices.Contains(worthsOwn, r.name) || httpCode.MatchString(r.name):
	case r.name == graph.KindPanic || r.name == graph.KindPermanent:
		fail("%s: a failure of kind %s is never retried", what, r.name)
	case plainCode.MatchString(r.name):
		fail("%s: unknown failure %q; did you mean %q?", what, r.name, "http:"+r.name)
	case near != "" || r.name == "" || strings.HasPrefix(strings.ToLower(r.name), "http"):
		fail("%s: unknown failure %q%s", what, r.name, near)
	}
}

// retryable reports whether another attempt may go better.
func retryable(err error) bool {
	var r interface{ Retryable() bool }
	if errors.As(err, &r) {
		return r.Retryable()
	}
	kind := (&graph.NodeError{Err: err}).Kind()
	return kind != graph.KindPanic && kind != graph.KindPermanent
}

// retryOn accepts failures of these kinds, such as timeout, that may go better, and those
// with these codes, such as http:429 or http:5xx, in any case.
func retryOn(on []ref) func(error) bool {
	return func(err error) bool {
		failed := &graph.NodeError{Err: err}
		kind, code := failed.Kind(), failed.Code()
		return slices.ContainsFunc(on, func(r ref) bool {
			return r.name == kind && retryable(err) || code != "" && codeMatches(r.name, code)
		})
	}
}

// codeMatches compares a code with a pattern, in which an x matches any digit.
func codeMatches(pattern, code string) bool {
	if len(pattern) != len(code) {
		return false
	}
	for i := range pattern {
		digit := code[i] >= '0' && code[i] <= '9'
		if pattern[i] != code[i] && !(pattern[i] == 'x' && digit) {
			return false
		}
	}
	return true
}

// caching has how long a cached result of a node is valid, and what it depends on.
type caching struct {
	at  *yaml.Node
	key *yaml.Node // nil: the whole state
	ttl time.Duration

	by *template // key, once it was checked
}

func (s *source) caching(n *yaml.Node) *caching {
	o, _ := s.record(n, "cache", "key", "ttl")
	c := &caching{at: n, key: o.get("key")}
	if ttl := o.get("ttl"); ttl != nil {
		c.ttl = s.duration(ttl, "cache.ttl")
	}
	return c
}

// sharedLimit is a bound that nodes share by its name.
type sharedLimit struct {
	ref
	graph.Limit
}

func (s *source) sharedLimits(n *yaml.Node) (all []sharedLimit) {
	o, _ := s.object(n, "limits.shared")
	if s.tooLong(n, o, "shared limits") {
		return nil
	}
	for _, m := range o {
		l := sharedLimit{ref: ref{m.key.Value, m.key}}
		what := "limit " + l.name
		if !nodeName.MatchString(l.name) {
			s.fail(m.key, "WF111", "the name %q of a limit must be letters, digits, _ and -, a letter first", l.name)
		}
		bounds, _ := s.record(m.value, what, "concurrency", "rate", "burst")
		for _, k := range bounds {
			switch k.key.Value {
			case "concurrency":
				l.Concurrency = s.count(k.value, what+": concurrency")
			case "rate":
				l.Rate = s.rate(k.value, what+": rate")
			case "burst":
				l.Burst = s.count(k.value, what+": burst")
			}
		}
		switch {
		case bounds.get("concurrency") == nil && bounds.get("rate") == nil:
			s.fail(m.key, "WF129", "%s must have concurrency or rate", what)
		case bounds.get("burst") != nil && bounds.get("rate") == nil:
			s.fail(bounds.get("burst"), "WF129", "%s: burst requires a rate", what)
		}
		all = append(all, l)
	}
	return all
}

var rateText = regexp.MustCompile(`^([0-9]{1,9})/(s|m|h)$`)

// rate returns a number of beginnings a second.
func (s *source) rate(n *yaml.Node, what string) float64 {
	n = deref(n)
	m := rateText.FindStringSubmatch(n.Value)
	if n.Kind != yaml.ScalarNode || m == nil || strings.Trim(m[1], "0") == "" {
		s.fail(n, "WF128", "%s must be a rate such as 10/s, 90/m or 1000/h, not %s", what, describe(n))
		return 0
	}
	count, _ := strconv.Atoi(m[1])
	return float64(count) / map[string]float64{"s": 1, "m": 60, "h": 3600}[m[2]]
}

var sizeText = regexp.MustCompile(`^([0-9]{1,9})(KiB|MiB|GiB)$`)

// size returns a number of bytes.
func (s *source) size(n *yaml.Node, what string) int {
	n = deref(n)
	if m := sizeText.FindStringSubmatch(n.Value); n.Kind == yaml.ScalarNode && m != nil && strings.Trim(m[1], "0") != "" {
		count, _ := strconv.Atoi(m[1])
		return count << map[string]int{"KiB": 10, "MiB": 20, "GiB": 30}[m[2]]
	}
	s.fail(n, "WF128", "%s must be a size such as 512KiB or 4MiB, not %s", what, describe(n))
	return 0
}

// shareLimits adds the named limits of a file to those of the files before it: one name
// is one limit in all of them.
func (c *checker) shareLimits() {
	for _, l := range c.plan.limits.shared {
		first, known := c.load.limits[l.name]
		if known && first.Limit != l.Limit {
			c.fail(l.at, "WF129", "limit %s differs from the limit of the same name at %s", l.name, first.pos)
		}
		if !known {
			c.load.limits[l.name] = placedLimit{l.Limit, c.at(l.at)}
		}
	}
}

type placedLimit struct {
	graph.Limit
	pos string
}

// checkLimit reports a node's limit that the file does not declare.
func (c *checker) checkLimit(r ref) {
	var known []string
	for _, l := range c.plan.limits.shared {
		known = append(known, l.name)
	}
	if r.name == "" || slices.Contains(known, r.name) {
		return
	}
	hint := "declare it under limits.shared"
	if len(known) > 0 {
		hint = "known are " + strings.Join(known, ", ")
	}
	c.misled = true
	c.failAt(r.at.Line, r.at.Column, "WF311", hint, "unknown limit %q%s", r.name, didYouMean(r.name, known))
}

// version returns a hash of what n does, with the workflow that it runs, so that results of another
// text are not used.
func (n *node) version() string {
	h := sha256.New()
	var write func(n *yaml.Node)
	write = func(n *yaml.Node) {
		n = deref(n)
		fmt.Fprintf(h, "%d %s %q %d\n", n.Kind, n.ShortTag(), n.Value, len(n.Content))
		for _, c := range n.Content {
			write(c)
		}
	}
	write(n.body)
	if sub, ok := n.work.(*subWork); ok && sub.child != nil {
		fmt.Fprint(h, sub.child.Hash)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}
