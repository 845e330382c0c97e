package studio

import (
	"context"
	"net/http"

	"github.com/weftrun/weft/graph"
)

// editedText is the body of a request about a text.
type editedText struct {
	Path string `json:"path"`
	YAML string `json:"yaml"`
	Line int    `json:"line"`
	Col  int    `json:"col"`
}

// edited reads such a body.
func (r *request) edited() (e Editor, text editedText, err error) {
	if e, err = r.editor(); err == nil {
		err = r.body(&text)
	}
	if err == nil && len(text.YAML) > maxEdited {
		err = &requestError{http.StatusRequestEntityTooLarge, "the text is too long"}
	}
	return e, text, err
}

// apiMistake is a mistake in a text. The columns count from 1, and the last one is behind it.
type apiMistake struct {
	Code    string  `json:"code"`
	File    string  `json:"file,omitempty"`
	Line    int     `json:"line"`
	Col     int     `json:"col"`
	EndLine int     `json:"endLine"`
	EndCol  int     `json:"endCol"`
	Message string  `json:"message"`
	Hint    string  `json:"hint,omitempty"`
	Warning bool    `json:"warning,omitempty"`
	Fix     *apiFix `json:"fix,omitempty"`
}

// apiFix is what to write between two columns of the line.
type apiFix struct {
	Col    int    `json:"col"`
	EndCol int    `json:"endCol"`
	Text   string `json:"text"`
}

// apiCheck takes {"yaml", "path"} and returns the mistakes and the drawing.
func apiCheck(r *request) (any, error) {
	e, text, err := r.edited()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), checkTime)
	defer cancel()
	checked, err := e.Check(ctx, text.Path, text.YAML)
	if err != nil {
		return nil, err
	}
	out := struct {
		Name     string         `json:"name,omitempty"`
		Mistakes []apiMistake   `json:"mistakes"`
		Tests    []string       `json:"tests,omitempty"`
		Drawing  *graph.Drawing `json:"drawing,omitempty"`
	}{checked.Name, []apiMistake{}, checked.Tests, checked.Drawing}
	for _, m := range checked.Mistakes {
		one := apiMistake{m.Code, m.File, m.Line, m.Col, m.Line, m.Col + m.Width, m.Text, m.Hint, m.Warning, nil}
		if m.Fix.Text != "" {
			one.Fix = &apiFix{m.Fix.Col, m.Fix.Col + m.Fix.Width, m.Fix.Text}
		}
		out.Mistakes = append(out.Mistakes, one)
	}
	return out, nil
}

// apiComplete takes {"yaml", "path", "line", "col"} and returns what may be written there.
func apiComplete(r *request) (any, error) {
	e, text, err := r.edited()
	if err != nil {
		return nil, err
	}
	c, err := e.Complete(text.Path, text.YAML, text.Line, text.Col)
	if c.Choices == nil {
		c.Choices = []Choice{}
	}
	return c, err
}

// apiWorkflowSchema returns the JSON Schema of workflows, with the kinds of this program.
func apiWorkflowSchema(r *request) (any, error) {
	e, err := r.editor()
	if err != nil {
		return nil, err
	}
	return e.Schema()
}
