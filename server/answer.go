package server

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/weftrun/weft/server/wire"
)

// encode returns a value as JSON, without escapes for HTML.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// answer writes a value with the status 200.
func (c *call) answer(v any) error {
	data, err := encode(v)
	if err != nil {
		return err
	}
	return c.write(http.StatusOK, "application/json", data)
}

func (c *call) write(status int, contentType string, data []byte) error {
	h := c.w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(data)))
	c.w.WriteHeader(status)
	_, _ = c.w.Write(data) // the client has gone
	return nil
}

func (c *call) noContent() error {
	c.w.WriteHeader(http.StatusNoContent)
	return nil
}

// refuse writes an error in the dialect of the request.
func (c *call) refuse(e *wire.Error) {
	status := e.HTTPStatus(c.dialect)
	if status == http.StatusUnauthorized {
		c.w.Header().Set("WWW-Authenticate", "Bearer")
	}
	if e.Code == wire.CodeDraining || e.Code == wire.CodeRateLimited {
		c.w.Header().Set("Retry-After", retryAfter)
	}
	if strings.HasPrefix(c.URL.Path, completionsPath) {
		_ = c.refuseCompletion(status, e)
		return
	}
	contentType, body := e.Body(c.dialect)
	_ = c.write(status, contentType, body)
}

// page is which part of a list a client asks for.
type page struct {
	Limit  *int     `json:"limit"`
	Offset *int     `json:"offset"`
	Select []string `json:"select"`
}

const defaultPage = 10

// check returns the limit and the offset.
func (p page) check(most int) (limit, offset int, err error) {
	limit = min(defaultPage, most)
	if p.Limit != nil {
		limit = *p.Limit
	}
	if p.Offset != nil {
		offset = *p.Offset
	}
	switch {
	case limit < 1 || limit > most:
		return 0, 0, invalid("limit must be between 1 and %d (got %d)", most, limit)
	case offset < 0:
		return 0, 0, invalid("offset must not be negative (got %d)", offset)
	}
	return limit, offset, nil
}

// answerPage writes a part of a list, with the number of all results and the next offset.
func (c *call) answerPage(list []json.RawMessage, offset, total int) error {
	c.w.Header().Set("X-Pagination-Total", strconv.Itoa(total))
	if next := offset + len(list); next < total {
		c.w.Header().Set("X-Pagination-Next", strconv.Itoa(next))
	}
	if list == nil {
		list = []json.RawMessage{}
	}
	return c.answer(list)
}

// selected returns the fields of an object that a client asks for, in the order of the object.
func selected(data json.RawMessage, fields []string) json.RawMessage {
	if len(fields) == 0 {
		return data
	}
	b := []byte{'{'}
	gjson.ParseBytes(data).ForEach(func(key, value gjson.Result) bool {
		if slices.Contains(fields, key.String()) {
			if len(b) > 1 {
				b = append(b, ',')
			}
			b = append(append(append(b, key.Raw...), ':'), value.Raw...)
		}
		return true
	})
	return append(b, '}')
}

// checkSelect returns the fault of a field that objects do not have.
func checkSelect(fields, known []string) error {
	for _, f := range fields {
		if !slices.Contains(known, f) {
			return invalid("select must name fields of the object (got %.100q)", f)
		}
	}
	return nil
}
