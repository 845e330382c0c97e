package workflow

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/exprs"
	"github.com/weftrun/weft/internal/redact"
)

// Secret is a parameter that may contain ${secret:NAME}. It never holds the value: that
// is read when [Env.Reveal] is called, so keep what that returns to where it is
// needed. As text, as JSON and in errors a Secret shows the names.
//
// A kind declares that it takes secrets by a parameter of this type; anywhere else
// they are refused when the file is loaded.
//
// In an [Entry] a Secret may also contain ${env:NAME}, an environment variable.
type Secret struct{ text string }

// SecretText returns a Secret that is plain text, for programs that fill parameters
// themselves.
func SecretText(text string) Secret { return Secret{text: text} }

// FromEnv returns a Secret that is the value of an environment variable, for the default of a
// parameter of an [Entry].
func FromEnv(name string) Secret { return Secret{text: "${env:" + name + "}"} }

// IsZero reports whether the parameter is missing.
func (s Secret) IsZero() bool { return s == Secret{} }

// String returns the text, with names for values.
func (s Secret) String() string { return placeholder.ReplaceAllString(s.text, "[secret $1]") }

// GoString is String.
func (s Secret) GoString() string { return s.String() }

// MarshalJSON returns String as JSON.
func (s Secret) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }

// UnmarshalJSON reads a text.
func (s *Secret) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, &s.text) }

// Reveal returns the text with the values in it, which [Env.Redact] replaces from then on, also as
// a whole. The error names what is not set.
func (e Env) Reveal(s Secret) (string, error) {
	if e.vault == nil {
		return s.text, nil
	}
	text, err := e.vault.reveal(s.text)
	if err == nil && e.cover != nil && text != s.text && placeholder.FindString(s.text) != s.text {
		e.cover.add(text, s.String())
	}
	return text, err
}

// Hide makes [Env.Redact] replace a text that was made of secrets, such as what an encoding joins.
func (e Env) Hide(text string) {
	if e.cover != nil {
		e.cover.add(text, "[secret]")
	}
}

// Redact returns text without the values of the file's secrets, in whatever encoding they have
// there. Results and errors of a Runner are redacted when it returns: Redact is for a text that it
// shortens, since half a secret is not found.
func (e Env) Redact(text string) string {
	if e.cover == nil {
		return text
	}
	return e.cover.replace(text)
}

// placeholder replaces a secret in the value of a parameter. The digits are drawn when
// the file is loaded, so that no text of a state can pass for one.
var placeholder = regexp.MustCompile("\x00secret:((?:env:)?[A-Za-z0-9_]+):[0-9a-f]{32}\x00")

// vault knows where the secrets of one file come from.
type vault struct {
	src     *source
	lookup  func(string) (string, bool)
	secrets []variable
	hidden  []variable // of the environment, by envPrefix and their name, which entries read
	nonce   string
	shared  bool                        // the file is that of Options.Config
	keys    func(string) (string, bool) // lookup of secrets and variables of nodes; nil is lookup
}

// newNonce returns the digits of the placeholders of all files that are loaded together.
func newNonce() string {
	nonce := make([]byte, 16)
	_, _ = rand.Read(nonce) // it never fails
	return hex.EncodeToString(nonce)
}

// in returns v for a run: in a test of a file the environment is that of the test. While a test
// records, nodes also get the secrets and variables of v that the test does not set.
func (v *vault) in(ctx context.Context) *vault {
	e, ok := ctx.Value(testEnvKey{}).(testEnv)
	if !ok {
		return v
	}
	own := v.with(e.lookup)
	if e.records {
		own.keys = func(name string) (string, bool) {
			if value, ok := e.lookup(name); ok {
				return value, true
			}
			return v.lookup(name)
		}
	}
	return own
}

// with returns v for another environment.
func (v *vault) with(lookup func(string) (string, bool)) *vault {
	own := *v
	own.lookup, own.keys = lookup, nil
	return &own
}

// key returns a variable of the environment, for a secret or a node.
func (v *vault) key(name string) (string, bool) {
	if v.keys != nil {
		return v.keys(name)
	}
	return v.lookup(name)
}

func (v *vault) hold(name string) string { return "\x00secret:" + name + ":" + v.nonce + "\x00" }

// holdSecret is hold for a declared secret. A secret of the shared file is a variable of the
// environment to the workflows, which may have a secret of the same name.
func (v *vault) holdSecret(name string) string {
	i := slices.IndexFunc(v.secrets, func(s variable) bool { return s.name == name })
	if !v.shared || i < 0 {
		return v.hold(name)
	}
	return v.holdVariable(v.secrets[i].from)
}

// holdVariable returns the placeholder of a variable of the environment.
func (v *vault) holdVariable(from string) string {
	v.hidden = append(v.hidden, variable{ref: ref{name: envPrefix + from}, from: from})
	return v.hold(envPrefix + from)
}

// value returns the value of a secret.
func (v *vault) value(name string) (string, error) {
	if from, ok := strings.CutPrefix(name, envPrefix); ok {
		if value, _ := v.key(from); value != "" {
			return value, nil
		}
		return "", fmt.Errorf("the environment variable %s is not set", from)
	}
	for _, s := range v.secrets {
		if s.name != name {
			continue
		}
		if value, ok := v.key(s.from); ok && value != "" {
			return value, nil
		}
		return "", fmt.Errorf("the secret %s is missing: the environment variable %s is not set", name, s.from)
	}
	return "", fmt.Errorf("there is no secret %q", name)
}

func (v *vault) reveal(text string) (string, error) {
	var errs []error
	for _, s := range slices.Concat(v.secrets, v.hidden) {
		if !strings.Contains(text, v.hold(s.name)) {
			continue
		}
		value, err := v.value(s.name)
		if err != nil && s.at != nil {
			err = &RunError{v.src.at(s.at), err.Error()}
		}
		if err != nil {
			errs = append(errs, err)
		}
		text = strings.ReplaceAll(text, v.hold(s.name), value)
	}
	return text, errors.Join(errs...)
}

// cover is what no result and no error of one run of a node may hold: the secrets of the file,
// and what was made of them.
type cover struct {
	mu sync.Mutex
	r  *redact.Redactor
}

// cover returns a cover of the secrets that are set.
func (v *vault) cover() *cover {
	var all []redact.Secret
	for _, s := range slices.Concat(v.secrets, v.hidden) {
		if value, err := v.value(s.name); err == nil {
			all = append(all, redact.Secret{Value: value, Shown: "[secret " + s.name + "]"})
		}
	}
	return &cover{r: redact.New(all...)}
}

func (c *cover) add(value, shown string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.r = c.r.With(redact.Secret{Value: value, Shown: shown})
}

func (c *cover) replace(text string) string {
	c.mu.Lock()
	r := c.r
	c.mu.Unlock()
	return r.Replace(text)
}

// clean returns a plain value without secrets. It may change v.
func clean(v any, redact func(string) string) any {
	switch v := v.(type) {
	case string:
		return redact(v)
	case []any:
		for i := range v {
			v[i] = clean(v[i], redact)
		}
	case map[string]any:
		cleaned := make(map[string]any, len(v))
		for key, value := range v {
			cleaned[redact(key)] = clean(value, redact)
		}
		return cleaned
	}
	return v
}

// cleanError returns err without the values of secrets. If there are any in it, no error
// that holds them can be reached any more, but what it is, its code and whether it
// is worth a retry stay.
func cleanError(err error, redact func(string) string) error {
	if err == nil || errors.Is(err, graph.ErrInterrupted) || !leaks(err, redact) {
		return err
	}
	return &redactedError{text: redact(err.Error()), err: err}
}

// leaks reports whether the text of err or of one that it wraps holds a secret.
func leaks(err error, redact func(string) string) bool {
	if err == nil {
		return false
	}
	if text := err.Error(); redact(text) != text {
		return true
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		return leaks(e.Unwrap(), redact)
	case interface{ Unwrap() []error }:
		return slices.ContainsFunc(e.Unwrap(), func(err error) bool { return leaks(err, redact) })
	}
	return false
}

type redactedError struct {
	text string
	err  error // not wrapped: its text must not be found
}

func (e *redactedError) Error() string { return e.text }

func (e *redactedError) Is(target error) bool { return errors.Is(e.err, target) }

func (e *redactedError) Retryable() bool { return retryable(e.err) }

func (e *redactedError) Code() string { return (&graph.NodeError{Err: e.err}).Code() }

// guarded calls run so that a panic becomes an error without secrets in it.
func guarded(redact func(string) string, run func() (any, error)) (v any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &graph.PanicError{Value: redact(fmt.Sprint(p)), Stack: debug.Stack()}
		}
		err = cleanError(err, redact)
	}()
	return run()
}

var (
	secretUse  = regexp.MustCompile(`\$?\$\{secret:([^}]*)\}`)
	envUse     = regexp.MustCompile(`\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}`)
	secretFrom = regexp.MustCompile(`^\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}$`)
)

// envPrefix begins the names of secrets that are variables of the environment.
const envPrefix = "env:"

// secrets decodes the names of the secrets, and of the variables that they come from. No
// message repeats a value: it might be a secret that was written down.
func (s *source) secrets(n *yaml.Node) (all []variable) {
	o, _ := s.object(n, "secrets")
	if s.tooLong(n, o, "secrets") {
		return nil
	}
	for _, m := range o {
		v := variable{ref: ref{m.key.Value, m.key}, typ: "string"}
		if !identifier.MatchString(v.name) {
			s.fail(m.key, "WF111", "the name %q of a secret must be letters, digits and _, not a digit first", v.name)
		}
		from := secretFrom.FindStringSubmatch(m.value.Value)
		if m.value.Kind != yaml.ScalarNode || from == nil {
			s.failAt(m.value.Line, m.value.Column, "WF701", "a file must not contain the secret itself",
				"secret %s must name its source: ${env:NAME}", v.name)
			continue
		}
		v.from = from[1]
		all = append(all, v)
	}
	return all
}

// holdSecrets puts placeholders where text names secrets.
func (t *template) holdSecrets() {
	if !strings.Contains(t.at.Value, "${secret:") || t.value == nil {
		return
	}
	var known []string
	for _, v := range t.src.vault.secrets {
		known = append(known, v.name)
	}
	f := t.src.findNext(t.at)
	uses := secretUse.FindAllStringSubmatchIndex(t.at.Value, maxNodes+1)
	if len(uses) > maxNodes {
		t.src.fail(t.at, "WF603", "there are more than %d secrets in one text", maxNodes)
		t.bad = true
		return
	}
	for _, at := range uses {
		name := t.at.Value[at[2]:at[3]]
		if strings.HasPrefix(t.at.Value[at[0]:], "$$") {
			continue
		}
		if !slices.Contains(known, name) {
			line, col := f.of(at[2])
			t.src.failAt(line, col, "WF702", "declare it under secrets", "unknown secret %q%s", name, didYouMean(name, known))
			t.bad = true
		}
		t.secrets = append(t.secrets, name)
	}
	t.value = t.value.MapLiterals(func(text string) string {
		return secretUse.ReplaceAllStringFunc(text, func(use string) string {
			if escaped, ok := strings.CutPrefix(use, "$$"); ok {
				return "$" + escaped
			}
			return t.src.vault.holdSecret(secretUse.FindStringSubmatch(use)[1])
		})
	})
}

// refuseSecrets reports the secrets in t, which is in a place that takes none.
func (t *template) refuseSecrets(where string) {
	if len(t.secrets) > 0 && !t.bad {
		t.src.failAt(t.at.Line, t.at.Column, "WF703", "only parameters such as http.headers accept secrets",
			"the secret %s cannot be used in %s", t.secrets[0], where)
	}
	for _, item := range t.items {
		item.refuseSecrets(where)
	}
}

// template compiles a value that must not contain a secret.
func (c *checker) template(n *yaml.Node, env exprs.Env, where string) *template {
	t := c.source.template(n, env)
	t.refuseSecrets(where)
	return t
}
