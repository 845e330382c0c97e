package server

import (
	"slices"

	"github.com/weftrun/weft/internal/values"
	"github.com/weftrun/weft/server/wire"
)

// withStatus are the keys of metadata that the index has together with the status, so that a page
// of both needs no other reads.
var withStatus = []string{wire.MetadataGraph, wire.MetadataAssistant, ownerKey}

const ttlTerm = "ttl" // of threads that have a time to live

func statusTerm(s wire.ThreadStatus) string { return term("status", string(s)) }

func statusAndTerm(s wire.ThreadStatus, leaf string) string {
	return term("status and", string(s), leaf)
}

// threadTerms returns the terms by which a thread is found.
func threadTerms(t *thread) []string {
	metadata := decoded(t.Metadata)
	list := append(leaves(nil, nil, metadata), statusTerm(t.Status))
	for _, key := range withStatus {
		if leaf, ok := leafTerm([]string{key}, metadata[key]); ok {
			list = append(list, statusAndTerm(t.Status, leaf))
		}
	}
	if t.TTL != nil {
		list = append(list, term(ttlTerm))
	}
	return list
}

// leafTerm returns the term of a value in metadata: a string, a number or a boolean.
func leafTerm(path []string, v any) (string, bool) {
	key, ok := values.Key(v)
	if !ok {
		return "", false
	}
	return term(append(slices.Concat([]string{"metadata"}, path), key)...), true
}

// leaves adds the terms of the values in an object and in its objects.
func leaves(list, path []string, o tree) []string {
	for key, v := range o {
		at := append(slices.Clip(path), key)
		if inner, ok := v.(tree); ok {
			list = leaves(list, at, inner)
		} else if leaf, ok := leafTerm(at, v); ok {
			list = append(list, leaf)
		}
	}
	return list
}

// threadQuery is what a search for threads asks of the index.
type threadQuery struct {
	status wire.ThreadStatus // "" is any
	want   tree              // as in contains
	filter Filter            // of the rules
}

// terms returns the terms that all threads which match have. exact is as in search.
func (q threadQuery) terms() (terms []string, exact bool) {
	exact = true
	paired := "" // the first leaf that the index has together with the status
	add := func(path []string, v any) {
		leaf, ok := leafTerm(path, v)
		if exact = exact && ok; !ok || slices.Contains(terms, leaf) {
			return
		}
		terms = append(terms, leaf)
		if len(path) == 1 && slices.Contains(withStatus, path[0]) && paired == "" {
			paired = leaf
		}
	}
	var walk func(path []string, o tree)
	walk = func(path []string, o tree) {
		exact = exact && (len(o) > 0 || len(path) == 0)
		for key, v := range o {
			at := append(slices.Clip(path), key)
			if inner, ok := v.(tree); ok {
				walk(at, inner)
			} else {
				add(at, v)
			}
		}
	}
	walk(nil, q.want)
	for key, want := range q.filter {
		ops, isOps := want.(map[string]any)
		if v, ok := ops["$eq"]; ok && len(ops) == 1 {
			want, isOps = v, false
		}
		if exact = exact && !isOps; !isOps {
			add([]string{key}, plain(want))
		}
	}
	if q.status == "" {
		return terms, exact && len(terms) <= 1
	}
	exact = exact && (len(terms) == 0 || len(terms) == 1 && paired != "")
	if paired == "" {
		return append(terms, statusTerm(q.status)), exact
	}
	return append([]string{statusAndTerm(q.status, paired)}, terms...), exact
}
