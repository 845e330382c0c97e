package studio

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/weftrun/weft/state"
)

// maxValue is how many bytes of a value a page shows.
const maxValue = 64 << 10

// maxLine is how many characters of a value are shown without a fold.
const maxLine = 120

// field is a field of a state.
type field struct {
	Name string
	Kind string // such as "list of 3"; "" for a short value
	Text string
	Cut  bool

	Blobs []state.BlobRef
}

// fieldsOf returns the fields of a state in the order of their names.
func fieldsOf(state json.RawMessage) ([]field, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(state, &all); err != nil {
		return nil, fmt.Errorf("studio: read the state: %w", err)
	}
	fields := make([]field, 0, len(all))
	for name, value := range all {
		fields = append(fields, fieldOf(name, value))
	}
	slices.SortFunc(fields, func(a, b field) int { return strings.Compare(a.Name, b.Name) })
	return fields, nil
}

func fieldOf(name string, value json.RawMessage) field {
	f := field{Name: name, Blobs: blobsIn(value)}
	first := byte(0)
	if len(value) > 0 {
		first = value[0]
	}
	switch {
	case first == '"':
		var text string
		if json.Unmarshal(value, &text) == nil && (utf8.RuneCountInString(text) > maxLine || strings.Contains(text, "\n")) {
			f.Kind, f.Text = fmt.Sprintf("text of %d characters", utf8.RuneCountInString(text)), text
		}
	case (first == '[' || first == '{') && len(value) > maxLine:
		f.Kind = fmt.Sprintf(map[byte]string{'[': "list of %d", '{': "object of %d"}[first], members(value))
		f.Text = preview(value, maxValue+1)
	}
	if f.Kind == "" {
		f.Text = string(readable(value))
	}
	if len(f.Text) > maxValue {
		f.Text, f.Cut = strings.ToValidUTF8(f.Text[:maxValue], ""), true
	}
	return f
}

// members returns how many values a list or an object of JSON has, which is not empty.
func members(value json.RawMessage) (n int) {
	n = 1
	depth := 0
	for i := 0; i < len(value); i++ {
		switch value[i] {
		case '"':
			i = stringEnd(value, i)
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		case ',':
			if depth == 1 {
				n++
			}
		}
	}
	return n
}

// stringEnd returns the index of the quote that ends a string of JSON, which begins at i.
func stringEnd(value json.RawMessage, i int) int {
	for i++; i < len(value) && value[i] != '"'; i++ {
		if value[i] == '\\' {
			i++
		}
	}
	return min(i, len(value)-1)
}

// preview returns JSON as people read it: with a line for each value, and readable. It ends soon
// after most bytes.
func preview(value json.RawMessage, most int) string {
	var b bytes.Buffer
	depth := 0
	line := func() {
		b.WriteByte('\n')
		for range depth {
			b.WriteString("  ")
		}
	}
	for i := 0; i < len(value) && b.Len() < most; i++ {
		switch c := value[i]; c {
		case '"':
			end := stringEnd(value, i)
			b.Write(readable(value[i:min(end+1, i+2*most)]))
			i = end
		case '[', '{':
			b.WriteByte(c)
			rest := bytes.TrimLeft(value[i+1:], " \t\r\n")
			if len(rest) > 0 && (rest[0] == ']' || rest[0] == '}') {
				b.WriteByte(rest[0])
				i = len(value) - len(rest)
				continue
			}
			depth++
			line()
		case ']', '}':
			depth--
			line()
			b.WriteByte(c)
		case ',':
			b.WriteByte(c)
			line()
		case ':':
			b.WriteString(": ")
		case ' ', '\t', '\n', '\r':
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// readable returns JSON in which <, > and & are not escaped, as they are by many encoders.
func readable(value json.RawMessage) json.RawMessage {
	out := make(json.RawMessage, 0, len(value))
	for i := 0; i < len(value); i++ {
		if value[i] != '\\' || i+1 == len(value) {
			out = append(out, value[i])
			continue
		}
		if i+6 <= len(value) {
			if c, ok := escaped[strings.ToLower(string(value[i:i+6]))]; ok {
				out, i = append(out, c), i+5
				continue
			}
		}
		out, i = append(out, value[i], value[i+1]), i+1
	}
	return out
}

var escaped = map[string]byte{`\u003c`: '<', `\u003e`: '>', `\u0026`: '&'}

// state answers with the state of a thread as a file.
func (s *Handler) state(w http.ResponseWriter, req *http.Request) {
	source, err := s.config.Open(req)
	if err != nil {
		s.fail(w, req, err)
		return
	}
	r := s.request(req, source)
	at, err := r.number("at", anyNumber)
	if err != nil {
		s.fail(w, req, err)
		return
	}
	t, err := source.Thread(r.Context(), r.PathValue("id"))
	if err == nil && t.Graph == nil {
		err = &requestError{http.StatusNotFound, "the server does not serve the graph of this thread"}
	}
	if err != nil {
		s.fail(w, req, err)
		return
	}
	state, info, err := t.Graph.Thread(t.ID).State(r.Context(), at)
	if err != nil {
		s.fail(w, req, err)
		return
	}
	w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": fmt.Sprintf("%s-%d.json", t.ID, info.Checkpoint)}))
	w.Header().Set("Cache-Control", "no-cache")
	reply(w, req, http.StatusOK, "application/json", state)
}
