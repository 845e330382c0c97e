package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/weftrun/weft/internal/values"
	"github.com/weftrun/weft/server/wire"
)

// decode reads the body into v. An empty body is an empty object.
func (c *call) decode(v any) error { return c.decodeUpTo(v, c.server.limits.Body) }

func (c *call) decodeUpTo(v any, limit int64) error {
	if err := checkContentType(c.Header.Get("Content-Type")); err != nil {
		return err
	}
	data, err := c.read(limit)
	if err != nil {
		return err
	}
	if len(bytes.TrimSpace(data)) == 0 {
		data = []byte("{}")
	}
	if !utf8.Valid(data) {
		return wire.Errorf(wire.CodeInvalidJSON, "the body must be valid UTF-8")
	}
	if depth := values.Depth(data); depth > c.server.limits.Depth {
		return invalid("the body must not be deeper than %d (got %d)", c.server.limits.Depth, depth)
	}
	if !json.Valid(data) {
		return wire.Errorf(wire.CodeInvalidJSON, "Invalid JSON in request body")
	}
	return mistyped(json.Unmarshal(data, v))
}

func checkContentType(text string) error {
	if text == "" {
		return nil
	}
	kind, _, err := mime.ParseMediaType(text)
	if err != nil || kind != "application/json" && !strings.HasSuffix(kind, "+json") {
		return wire.Errorf(wire.CodeUnsupportedMedia, "the Content-Type must be application/json (got %.100q)", text)
	}
	return nil
}

// read reads the body, up to a limit and a time.
func (c *call) read(limit int64) ([]byte, error) {
	control := http.NewResponseController(c.w)
	bounded := control.SetReadDeadline(time.Now().Add(c.server.limits.BodyTime)) == nil
	data, err := io.ReadAll(http.MaxBytesReader(c.w, c.Body, limit))
	if bounded && err == nil { // else the rest of the body must not be waited for
		_ = control.SetReadDeadline(time.Time{})
	}
	var most *http.MaxBytesError
	switch {
	case errors.As(err, &most):
		return nil, tooLarge("the body must have at most %d bytes", limit)
	case err != nil:
		return nil, &wire.Error{Code: wire.CodeInvalidRequest, Detail: "the body must arrive whole", Status: http.StatusBadRequest}
	}
	return data, nil
}

// mistyped returns the fault of a value whose type is not that of its field.
func mistyped(err error) error {
	var wrong *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wrong) && wrong.Field != "":
		return invalid("%s must be %s (got %s)", wrong.Field, typeName(wrong), wrong.Value)
	case errors.As(err, &wrong):
		return invalid("the body must be %s (got %s)", typeName(wrong), wrong.Value)
	}
	return invalid("the body is not valid")
}

func typeName(e *json.UnmarshalTypeError) string {
	switch kind := e.Type.Kind().String(); {
	case kind == "map", kind == "struct":
		return "an object"
	case kind == "slice", kind == "array":
		return "a list"
	case kind == "string":
		return "a string"
	case kind == "bool":
		return "a boolean"
	case strings.HasPrefix(kind, "int"), strings.HasPrefix(kind, "uint"):
		return "an integer"
	}
	return "a number"
}

// absent reports whether a value was left out, which null means too.
func absent(raw json.RawMessage) bool {
	return len(raw) == 0 || string(raw) == "null"
}
