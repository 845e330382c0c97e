package record

import (
	"encoding"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/weftrun/weft/internal/compact"
	"github.com/weftrun/weft/internal/validtext"
)

// plain is the element of the channels of a Record: nil, bool, string, int64, float64, []any or
// map[string]any. Its JSON distinguishes floats from ints, 3.0 from 3, so that decoding returns the
// encoded value.
type plain struct{ v any }

func (p plain) MarshalJSON() ([]byte, error) { return appendPlain(nil, p.v) }

// AppendJSON implements [compact.Appender].
func (p plain) AppendJSON(b compact.JSON) (compact.JSON, error) { return appendPlain(b, p.v) }

// TextIsChecked implements [validtext.Checked]: a Type looks at the text of what is written.
func (plain) TextIsChecked() {}

func (p *plain) UnmarshalJSON(data []byte) (err error) {
	p.v, err = Type{}.decode(data)
	return err
}

// Encode returns the JSON of a result of Convert. The JSON distinguishes floats from ints, so that
// Convert returns the same value for it.
func (Type) Encode(v any) (json.RawMessage, error) { return appendPlain(nil, v) }

func appendPlain(b []byte, v any) ([]byte, error) { return compact.Append(b, v, appendFloat) }

func appendFloat(b []byte, f float64) ([]byte, error) {
	data, err := json.Marshal(f)
	b = append(b, data...)
	if err == nil && !strings.ContainsAny(string(data), ".e") {
		b = append(b, ".0"...)
	}
	return b, err
}

var anyList, anyMap = &Type{base: "list", elem: &Type{}}, &Type{base: "map", elem: &Type{}}

// any copies v as it is.
func (c conversion) any(v any, depth int) (any, *TypeError) {
	switch v.(type) {
	case []any:
		return c.list(anyList, v, depth)
	case map[string]any:
		return c.entries(anyMap, v, depth)
	}
	return v, nil
}

// simplify returns v as one of the plain types; lists and objects are not looked
// into.
func simplify(v any) (any, *TypeError) {
	switch n := v.(type) {
	case nil, bool, int64, []any, map[string]any:
		return v, nil
	case string:
		if !utf8.ValidString(n) {
			return nil, notUTF8()
		}
		return v, nil
	case plain:
		return n.v, nil
	case float64:
		if math.IsNaN(n) || math.IsInf(n, 0) {
			return finite(n)
		}
		return v, nil // in the box that it has
	case json.Number:
		return number(string(n))
	}
	r := reflect.ValueOf(v)
	_, asJSON := v.(json.Marshaler)
	_, asText := v.(encoding.TextMarshaler)
	switch {
	case asJSON || asText:
	case r.CanInt():
		return r.Int(), nil
	case r.CanUint():
		return number(strconv.FormatUint(r.Uint(), 10))
	case r.CanFloat():
		return finite(r.Float())
	}
	return simplifyJSON(v)
}

func simplifyJSON(v any) (any, *TypeError) {
	if path, ok := validtext.Check(v); !ok {
		return nil, &TypeError{Path: strings.TrimPrefix(path, "."), What: notUTF8().What, text: true}
	}
	var err error
	data, raw := v.(json.RawMessage)
	if i, ok := decodeInt(data); ok {
		return i, nil
	}
	if !raw || !json.Valid(data) {
		data, err = json.Marshal(v)
	}
	if err == nil {
		v, err = decodePlain(data)
	}
	if err != nil {
		return nil, &TypeError{What: fmt.Sprintf("a %T has no JSON form: %v", v, err)}
	}
	return simplify(v)
}

func notUTF8() *TypeError {
	return &TypeError{What: "the text is not UTF-8, and JSON would change it", text: true}
}

func finite(f float64) (any, *TypeError) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, &TypeError{What: fmt.Sprintf("%v cannot be stored", f)}
	}
	return f, nil
}

// number reads a JSON number: as an int64 where it is written like one and fits,
// otherwise as a float64.
func number(s string) (any, *TypeError) {
	if i, err := strconv.ParseInt(s, 10, 64); err == nil {
		return i, nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return nil, &TypeError{What: fmt.Sprintf("the number %.40s is out of range", s)}
	}
	return finite(f)
}
