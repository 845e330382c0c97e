package studio

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// Sizes of pages.
const (
	threadsPage = 50
	commitsPage = 100
	maxDepth    = 8
)

// number reads an integer of the query from 0 to limit.
func (r *request) number(name string, limit uint64) (uint64, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n > limit {
		return 0, &requestError{http.StatusBadRequest, fmt.Sprintf("%s must be a number from 0 to %d (got %.100q)", name, limit, text)}
	}
	return n, nil
}

const anyNumber = 1 << 62

// with returns the address of a page with the query of the request, in which pairs are set. A pair
// with "" is removed.
func (r *request) with(path string, pairs ...string) string {
	q := url.Values{}
	for key, values := range r.URL.Query() {
		q[key] = values
	}
	for i := 0; i < len(pairs); i += 2 {
		q.Set(pairs[i], pairs[i+1])
		if pairs[i+1] == "" {
			q.Del(pairs[i])
		}
	}
	if len(q) == 0 {
		return r.base + path
	}
	return r.base + path + "?" + q.Encode()
}

// plain matches words that a shell takes as they are.
var plain = regexp.MustCompile(`^[A-Za-z0-9_./:@-]+$`)

// quoted returns a word for a shell.
func quoted(word string) string {
	if plain.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
