package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/weftrun/weft/state"
)

// Summary is the digest of one context.
type Summary struct {
	Ref       string `json:"context"` // TYPE.key
	Objective string `json:"task_objective,omitempty"`
	Summary   any    `json:"summary"`
}

// Summaries returns the digests of the contexts in refs, in that order. For all contexts, pass the
// result of [Contexts.Refs]. A missing, unknown or corrupt context is an error.
func (c *Contexts) Summaries(refs InputList) (all []Summary, err error) {
	var errs []error
	for _, ref := range refs {
		k, err := c.get(ref)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		s := Summary{Ref: ref.String(), Objective: k.Meta.Objective}
		if own, ok := k.Value.(Summarizer); ok {
			s.Summary = own.Summary(ref.Key)
		} else {
			s.Summary, err = digestOf(c.cache[ref].fields)
		}
		errs = append(errs, err)
		all = append(all, s)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return all, nil
}

func digestOf(fields string) (any, error) {
	var v any
	err := json.Unmarshal([]byte(fields), &v)
	return Digest(v), err
}

// Digest shortens decoded JSON for a prompt. It keeps three levels. A list or map of more than 10
// entries becomes its count and the first three. A string of more than 200 characters becomes its
// first 100 and its length.
func Digest(v any) any { return digest(v, 3) }

func digest(v any, depth int) any {
	switch v := v.(type) {
	case string:
		if n := utf8.RuneCountInString(v); n > 200 {
			return fmt.Sprintf("%s… (%d characters)", string([]rune(v)[:100]), n)
		}
	case []any:
		if depth == 0 {
			return fmt.Sprintf("list of %d", len(v))
		}
		return digestList(v, depth)
	case map[string]any:
		if depth == 0 {
			return fmt.Sprintf("object of %d", len(v))
		}
		return digestMap(v, depth)
	}
	return v
}

func digestList(v []any, depth int) any {
	first := v
	if len(v) > 10 {
		first = v[:3]
	}
	out := make([]any, len(first))
	for i, item := range first {
		out[i] = digest(item, depth-1)
	}
	if len(v) > 10 {
		return map[string]any{"count": len(v), "first": out}
	}
	return out
}

func digestMap(v map[string]any, depth int) any {
	keys := slices.Sorted(maps.Keys(v))
	if len(keys) > 10 {
		return map[string]any{"count": len(keys), "first_keys": keys[:3]}
	}
	out := make(map[string]any, len(keys))
	for _, k := range keys {
		out[k] = digest(v[k], depth-1)
	}
	return out
}

// Describe returns a text for a prompt that describes the use of the contexts of these types, or of
// all contexts without types. It describes a type that is not registered by its fields, and a
// context that cannot be decoded by its error.
func (c *Contexts) Describe(types ...string) string {
	var b strings.Builder
	for ref, e := range c.data.All() {
		if len(types) == 0 || slices.Contains(types, ref.Type) {
			c.describe(&b, ref, e)
		}
	}
	switch {
	case b.Len() > 0:
		return b.String()
	case len(types) > 0 && c.data.Len() > 0:
		return "No relevant context data available for " + strings.Join(types, ", ") + "."
	}
	return "No context data available."
}

func (c *Contexts) describe(b *strings.Builder, ref state.ContextRef, e state.ContextEntry) {
	fmt.Fprintf(b, "%s", ref)
	if e.Meta.Objective != "" {
		fmt.Fprintf(b, " (%s)", e.Meta.Objective)
	}
	b.WriteString(":\n")
	var how any
	k, err := c.get(ref)
	switch own, ok := k.Value.(Describer); {
	case err == nil && ok:
		how = own.Access(ref.Key)
	case errors.Is(err, ErrCorrupt):
		how = err.Error()
	default:
		how, _ = digestOf(e.Fields)
	}
	data, err := json.MarshalIndent(how, "  ", "  ")
	if err != nil {
		data = []byte(err.Error())
	}
	fmt.Fprintf(b, "  %s\n", data)
}
