package server

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/weftrun/weft/server/wire"
)

// call is one request under way.
type call struct {
	*http.Request
	w       http.ResponseWriter
	server  *Server
	dialect wire.Dialect
	who     Identity
	id      string
}

// pathID returns a parameter of the path that is a UUID, in its usual form.
func (c *call) pathID(name string) (string, error) { return checkID(name, c.PathValue(name)) }

func checkID(name, text string) (string, error) {
	id, err := uuid.Parse(text)
	if err != nil || len(text) != 36 {
		return "", invalid("%s must be a UUID (got %.100q)", name, text)
	}
	return id.String(), nil
}

// dialect returns the dialect of a request: that of its header, of the config, or of its client.
func (s *Server) dialect(r *http.Request) wire.Dialect {
	if d, err := wire.ParseDialect(r.Header.Get("X-Weft-Dialect")); err == nil {
		return d
	}
	if s.config.Dialect != "" {
		return s.config.Dialect
	}
	return wire.DialectOf(r.Header.Get("User-Agent"), r.Header.Get("Accept"))
}

// newID returns an id that sorts by time.
func newID() string { return uuid.Must(uuid.NewV7()).String() }

// flag reads a boolean of the query.
func (c *call) flag(name string) (bool, error) {
	switch text := c.URL.Query().Get(name); strings.ToLower(text) {
	case "", "false", "0":
		return false, nil
	case "true", "1":
		return true, nil
	default:
		return false, invalid("%s must be true or false (got %.100q)", name, text)
	}
}

// number reads an integer of the query that is not negative.
func (c *call) number(name string, otherwise int) (int, error) {
	text := c.URL.Query().Get(name)
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, invalid("%s must be a number that is not negative (got %.100q)", name, text)
	}
	return n, nil
}

// requestID returns the id that a client gave its request, or a new one.
func requestID(r *http.Request) string {
	if id := r.Header.Get("X-Request-Id"); len(id) <= 128 && isToken(id) {
		return id
	}
	return newID()
}
