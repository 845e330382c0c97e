package exprs

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

func changed(change func(string) string) *function {
	return &function{params: []param{text}, least: 1, result: gives(String), call: func(m *meter, args []any) (any, error) {
		s := change(args[0].(string))
		return s, m.text(len(s))
	}}
}

// trimmed returns a function of a text, and of a text and what is cut from it.
func trimmed(space func(string) string, cut func(s, what string) string) *function {
	return &function{params: []param{text, text}, least: 1, result: gives(String), call: func(_ *meter, args []any) (any, error) {
		if len(args) == 1 {
			return space(args[0].(string)), nil
		}
		return cut(args[0].(string), args[1].(string)), nil
	}}
}

// splitting returns a function that splits a text at a separator into at most n parts.
func splitting(split func(s, sep string, n int) []string) *function {
	return &function{params: []param{text, text, integer}, least: 2, result: gives(List(String)), call: func(m *meter, args []any) (any, error) {
		s, sep, most := args[0].(string), args[1].(string), int64(-1)
		if len(args) > 2 {
			most, _ = asInt(args[2])
		}
		count := int64(strings.Count(s, sep)) + 1
		if most < 0 || most > count {
			most = count
		}
		if err := m.spend(int(most)); err != nil {
			return nil, err
		}
		parts := split(s, sep, int(most))
		list := make([]any, len(parts))
		for i, part := range parts {
			list[i] = part
		}
		return list, nil
	}}
}

// searching returns a function that finds a text in another one. It counts characters, as slices
// and len do; it is -1 if there is none.
func searching(index func(s, part string) int) *function {
	return &function{params: []param{text, text}, least: 2, result: gives(Int), call: func(_ *meter, args []any) (any, error) {
		s := args[0].(string)
		at := index(s, args[1].(string))
		if at < 0 {
			return int64(-1), nil
		}
		return int64(utf8.RuneCountInString(s[:at])), nil
	}}
}

func testing2(test func(s, part string) bool) *function {
	return &function{params: []param{text, text}, least: 2, result: gives(Bool), call: func(_ *meter, args []any) (any, error) {
		return test(args[0].(string), args[1].(string)), nil
	}}
}

func join(m *meter, args []any) (any, error) {
	glue := ""
	if len(args) > 1 {
		glue = args[1].(string)
	}
	var parts []string
	size := 0
	for _, item := range args[0].([]any) {
		s, err := m.toText(item)
		if err != nil {
			return nil, err
		}
		if size += len(s) + len(glue); size > MaxText+len(glue) {
			return nil, errText
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, glue), m.text(max(size-len(glue), 0))
}

func repeat(m *meter, args []any) (any, error) {
	s := args[0].(string)
	n, _ := asInt(args[1])
	switch {
	case n < 0:
		return nil, fmt.Errorf("cannot repeat %d times", n)
	case n > MaxText || int64(len(s))*n > MaxText:
		return nil, errText
	}
	return strings.Repeat(s, int(n)), m.text(len(s) * int(n))
}

func replace(m *meter, args []any) (any, error) {
	s, old, with, most := args[0].(string), args[1].(string), args[2].(string), int64(-1)
	if len(args) > 3 {
		most, _ = asInt(args[3])
	}
	found := strings.Count(s, old)
	if most >= 0 && most < int64(found) {
		found = int(most)
	}
	if len(with) > MaxText || len(s)+found*(len(with)-len(old)) > MaxText {
		return nil, errText
	}
	return strings.Replace(s, old, with, found), m.text(len(s) + found*max(len(with)-len(old), 0))
}

func toBase64(m *meter, args []any) (any, error) {
	s := args[0].(string)
	if err := m.text(base64.StdEncoding.EncodedLen(len(s))); err != nil {
		return nil, err
	}
	return base64.StdEncoding.EncodeToString([]byte(s)), nil
}

// fromBase64 rejects bytes that are not UTF-8, because JSON would replace them.
func fromBase64(m *meter, args []any) (any, error) {
	s := args[0].(string)
	if err := m.text(len(s)); err != nil {
		return nil, err
	}
	data, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		return nil, fmt.Errorf("not base64: %w", err)
	}
	if !utf8.Valid(data) {
		return nil, errors.New("the bytes are not UTF-8 text")
	}
	return string(data), nil
}

// fromJSON decodes integers as integers.
func fromJSON(m *meter, args []any) (any, error) {
	s := args[0].(string)
	if err := m.spend(1 + len(s)/8); err != nil {
		return nil, err
	}
	dec := json.NewDecoder(strings.NewReader(s))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("not JSON: there is text after the value")
	}
	return m.plain(v, 0)
}
