package studio

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/weftrun/weft/graph"
)

// editedText is the body of a request about a text.
type editedText struct {
	Path string `json:"path"`
	YAML string `json:"yaml"`
	Line int    `json:"line"`
	Col  int    `json:"col"`
}

var errTextTooLong = &requestError{http.StatusRequestEntityTooLarge, fmt.Sprintf("the text has more than %d bytes", maxEdited)}

// edited reads such a body.
func (r *request) edited() (e Editor, text editedText, err error) {
	if e, err = r.editor(); err == nil {
		err = r.body(&text)
	}
	if err == nil && len(text.YAML) > maxEdited {
		err = errTextTooLong
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

// apiFile is a file of a workflow. Its tag is the ETag of the answer, too.
type apiFile struct {
	Path string `json:"path"`
	YAML string `json:"yaml"`
	Tag  string `json:"tag"`
}

func (f apiFile) etag() string { return `"` + f.Tag + `"` }

// file returns the editor of a studio that has files.
func (r *request) file() (e Editor, path string, err error) {
	e, err = r.editor()
	if err == nil && !e.Keeps() {
		err = &requestError{http.StatusNotFound, "this studio has no files"}
	}
	return e, r.PathValue("path"), err
}

// fileError returns the error of a file as that of its request.
func fileError(status int, err error) error {
	var wrong *PathError
	var conflict *ConflictError
	switch {
	case errors.As(err, &wrong):
		return &requestError{status, wrong.Error()}
	case errors.As(err, &conflict):
		return &requestError{http.StatusPreconditionFailed, conflict.Error()}
	}
	return err
}

// apiReadWorkflow returns a file.
func apiReadWorkflow(r *request) (any, error) {
	e, path, err := r.file()
	if err != nil {
		return nil, err
	}
	f, err := e.Read(path)
	if err != nil {
		return nil, fileError(http.StatusNotFound, err)
	}
	return apiFile{f.Path, f.Text, f.Tag}, nil
}

// apiWriteWorkflow takes {"yaml", "force"} and writes a file whose ETag is that of If-Match.
// Without If-Match the file must not exist. A text with mistakes is written only with force.
func apiWriteWorkflow(r *request) (any, error) {
	e, path, err := r.file()
	if err != nil {
		return nil, err
	}
	var text struct {
		YAML  string `json:"yaml"`
		Force bool   `json:"force"`
	}
	if err := r.body(&text); err != nil {
		return nil, err
	}
	if len(text.YAML) > maxEdited {
		return nil, errTextTooLong
	}
	if !text.Force {
		ctx, cancel := context.WithTimeout(r.Context(), checkTime)
		defer cancel()
		checked, err := e.Check(ctx, path, text.YAML)
		if err != nil {
			return nil, err
		}
		if checked.Drawing == nil {
			return nil, &requestError{http.StatusUnprocessableEntity, "the file was not written, since it has mistakes" + checked.first()}
		}
	}
	tag := strings.Trim(strings.TrimPrefix(r.Header.Get("If-Match"), "W/"), `"`) // a proxy that compresses makes it weak
	f := File{Path: path, Text: text.YAML, Tag: tag}
	var exists *ConflictError
	if f.Tag, err = e.Write(f); errors.As(err, &exists) && tag == "" {
		return nil, &requestError{http.StatusPreconditionFailed, fmt.Sprintf("the file %q exists; send its ETag as If-Match", path)}
	}
	if err != nil {
		return nil, fileError(http.StatusUnprocessableEntity, err)
	}
	return apiFile{f.Path, f.Text, f.Tag}, nil
}

// first is the first mistake, after a colon; "" without one.
func (c Checked) first() string {
	for _, m := range c.Mistakes {
		if !m.Warning {
			return fmt.Sprintf(": line %d, column %d: %s", m.Line, m.Col, m.Text)
		}
	}
	return ""
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
