package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/weftrun/weft/internal/fieldname"
)

// maxValueDepth bounds how deep a value may nest, so that a value that contains
// itself is an error and not a crash.
const maxValueDepth = 500

// Convert checks that v fits t and returns it as a plain value: nil, bool, string,
// int64, float64, []any or map[string]any, with defaults filled in. The result
// shares no slice or map with v. An int is exact; a number is a float64, and a
// whole one in the range in which float64 is exact will do as an int. Values of
// other Go types are converted by way of their JSON.
//
// The error is a *TypeError that names the place inside v.
func (t Type) Convert(v any) (any, error) {
	out, err := t.convert(v, 0)
	if err != nil {
		return nil, err
	}
	return out, nil
}

// decode reads JSON as a value of type t.
func (t Type) decode(data []byte) (any, error) {
	if i, ok := decodeInt(data); ok {
		return t.Convert(i)
	}
	v, err := decodePlain(data)
	if err != nil {
		return nil, err
	}
	return t.Convert(v)
}

func (t *Type) convert(v any, depth int) (any, *TypeError) {
	out, err := conversion{}.of(t, v, depth)
	if err != nil {
		out, err = conversion{exact: true}.of(t, v, depth)
	}
	return out, err
}

// conversion is one pass over a value. It ends at a mistake; an exact one at that which comes
// first, in maps by the smallest key.
type conversion struct{ exact bool }

func (c conversion) of(t *Type, v any, depth int) (any, *TypeError) {
	if depth > maxValueDepth {
		return nil, &TypeError{What: fmt.Sprintf("nested deeper than %d levels", maxValueDepth)}
	}
	v, err := simplify(v)
	if err != nil {
		return nil, err
	}
	switch t.Base() {
	case "any":
		return c.any(v, depth)
	case "list":
		return c.list(t, v, depth)
	case "map":
		return c.entries(t, v, depth)
	case "object":
		return c.object(t, v, depth)
	}
	return t.convertScalar(v)
}

func (t *Type) convertScalar(v any) (any, *TypeError) {
	ok := false
	switch n := v.(type) {
	case string:
		ok = t.base == "string"
	case bool:
		ok = t.base == "bool"
	case int64:
		ok = t.base == "int"
		if t.base == "number" {
			return float64(n), nil
		}
	case float64:
		ok = t.base == "number"
		if t.base == "int" && n == math.Trunc(n) && math.Abs(n) <= 1<<53 {
			return int64(n), nil
		}
	}
	if !ok {
		return nil, t.mismatch(v)
	}
	return v, nil
}

func (t *Type) mismatch(v any) *TypeError {
	got := describe(v)
	if f, ok := v.(float64); ok && t.base == "int" {
		got += " " + strconv.FormatFloat(f, 'g', -1, 64)
	}
	return &TypeError{What: fmt.Sprintf("want %s, got %s", t, got)}
}

func (c conversion) list(t *Type, v any, depth int) (any, *TypeError) {
	items, ok := v.([]any)
	if !ok {
		return nil, t.mismatch(v)
	}
	out := append(make([]any, 0, len(items)), items...)
	for i, item := range items {
		if t.elem.takes(item, depth+1) {
			continue
		}
		var err *TypeError
		if out[i], err = c.of(t.elem, item, depth+1); err != nil {
			return nil, err.under(fmt.Sprintf("[%d]", i))
		}
	}
	return out, nil
}

// takes reports whether v, of any type, is its own plain value of type t at this depth. It is
// quick, and false for much that fits.
func (t *Type) takes(v any, depth int) bool {
	if depth > maxValueDepth {
		return false
	}
	switch v := v.(type) {
	case nil:
		return t.base == ""
	case bool:
		return t.base == "" || t.base == "bool"
	case int64:
		return t.base == "" || t.base == "int"
	case string:
		return (t.base == "" || t.base == "string") && utf8.ValidString(v)
	}
	return false
}

func (c conversion) entries(t *Type, v any, depth int) (any, *TypeError) {
	m, ok := v.(map[string]any)
	if !ok {
		return nil, t.mismatch(v)
	}
	if c.exact {
		return c.sorted(t, m, depth)
	}
	out := maps.Clone(m)
	if out == nil {
		out = map[string]any{}
	}
	for k, item := range m {
		if err := checkKey(k); err != nil {
			return nil, err
		}
		if t.elem.takes(item, depth+1) {
			continue
		}
		var err *TypeError
		if out[k], err = c.of(t.elem, item, depth+1); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (c conversion) sorted(t *Type, m map[string]any, depth int) (any, *TypeError) {
	out := make(map[string]any, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if err := checkKey(k); err != nil {
			return nil, err
		}
		var err *TypeError
		if out[k], err = c.of(t.elem, m[k], depth+1); err != nil {
			return nil, err.under(keyPath(k))
		}
	}
	return out, nil
}

func (c conversion) object(t *Type, v any, depth int) (any, *TypeError) {
	m, ok := v.(map[string]any)
	if !ok {
		return nil, t.mismatch(v)
	}
	out := make(map[string]any, len(t.members))
	for i := range t.members {
		if err := c.member(&t.members[i], out, m, depth); err != nil {
			return nil, err.under(keyPath(t.members[i].Name))
		}
	}
	if t.name == BlobType.name && !isHash(out["$blob"]) {
		return nil, (&TypeError{What: "want a hash of 64 hexadecimal digits in lower case"}).under(keyPath("$blob"))
	}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if !t.has(k) {
			return nil, (&TypeError{What: "unknown member; the members are " + t.memberList()}).under(keyPath(k))
		}
	}
	return out, nil
}

var blobHash = regexp.MustCompile(`^[0-9a-f]{64}$`)

func isHash(v any) bool {
	text, ok := v.(string)
	return ok && blobHash.MatchString(text)
}

func (t *Type) has(member string) bool {
	for i := range t.members {
		if t.members[i].Name == member {
			return true
		}
	}
	return false
}

// member moves a member from one object to another. A null means an absent member, unless the
// member may be null.
func (c conversion) member(m *Member, to, from map[string]any, depth int) *TypeError {
	v, ok := from[m.Name]
	switch {
	case ok && (v != nil || m.Type.base == ""):
	case m.Default != nil:
		v, _ = decodePlain(m.Default)
	case m.Optional:
		return nil
	case !ok:
		return &TypeError{What: fmt.Sprintf("missing; want %s", m.Type)}
	}
	out, err := c.of(&m.Type, v, depth+1)
	if err == nil {
		to[m.Name] = out
	}
	return err
}

// checkKey returns the error of a key that is not UTF-8.
func checkKey(k string) *TypeError {
	if utf8.ValidString(k) {
		return nil
	}
	return notUTF8().under(keyPath(k))
}

// keyPath returns k as a step of a path.
func keyPath(k string) string {
	if fieldname.Fault(k) != "" || strings.Contains(k, ".") {
		return "[" + strconv.Quote(k) + "]"
	}
	return k
}

func describe(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "bool"
	case string:
		return "string"
	case []any:
		return "list"
	case map[string]any:
		return "object"
	}
	return "number"
}

// decodePlain reads JSON; numbers stay text, as json.Number.
func decodePlain(data []byte) (v any, err error) {
	if len(data) > 0 && strings.IndexByte("\"tfn", data[0]) < 0 { // the others have no numbers
		d := json.NewDecoder(bytes.NewReader(data))
		d.UseNumber()
		if d.Decode(&v) == nil && len(bytes.TrimLeft(data[d.InputOffset():], " \t\r\n")) == 0 {
			return v, nil
		}
	}
	if err = json.Unmarshal(data, &v); err != nil {
		return nil, err
	}
	return v, nil
}

// maxIntDigits is the length of the longest int64 in decimal, with its sign.
const maxIntDigits = 20

// decodeInt reads JSON that is a number in the form of an int64, without the copies of decodePlain.
func decodeInt(data []byte) (i int64, ok bool) {
	if len(data) == 0 || len(data) > maxIntDigits || data[0] != '-' && (data[0] < '0' || data[0] > '9') || !json.Valid(data) {
		return 0, false
	}
	i, err := strconv.ParseInt(string(data), 10, 64)
	return i, err == nil
}
