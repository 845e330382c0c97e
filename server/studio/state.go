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
	value = readable(value)
	f := field{Name: name, Text: string(value)}
	var b bytes.Buffer
	switch {
	case len(value) > 0 && value[0] == '"':
		var text string
		if json.Unmarshal(value, &text) == nil && (utf8.RuneCountInString(text) > maxLine || strings.Contains(text, "\n")) {
			f.Kind, f.Text = fmt.Sprintf("text of %d characters", utf8.RuneCountInString(text)), text
		}
	case len(value) > 0 && value[0] == '[':
		var list []json.RawMessage
		_ = json.Unmarshal(value, &list) // it is valid, as a part of a valid state
		f.Kind = fmt.Sprintf("list of %d", len(list))
	case len(value) > 0 && value[0] == '{':
		var object map[string]json.RawMessage
		_ = json.Unmarshal(value, &object) // it is valid, as a part of a valid state
		f.Kind = fmt.Sprintf("object of %d", len(object))
	}
	if f.Kind != "" && f.Text == string(value) {
		if len(value) <= maxLine {
			f.Kind = ""
		} else if json.Indent(&b, value, "", "  ") == nil {
			f.Text = b.String()
		}
	}
	if len(f.Text) > maxValue {
		f.Text, f.Cut = strings.ToValidUTF8(f.Text[:maxValue], ""), true
	}
	return f
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
