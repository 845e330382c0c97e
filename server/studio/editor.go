package studio

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/weftrun/weft/graph"
	h "github.com/weftrun/weft/internal/markup"
)

// Editor checks workflows, and reads and writes their files. Its methods may be called by several
// goroutines at once.
type Editor interface {
	// Check checks a text. path names its file, which need not exist; it is "" for a text that is
	// in no file.
	Check(ctx context.Context, path, text string) (Checked, error)
	// Complete returns what may be written at a place of a text, and what the word there means.
	// Line and col count from 1, in characters.
	Complete(path, text string, line, col int) (Completion, error)
	// Schema returns the JSON Schema of workflows.
	Schema() (json.RawMessage, error)
	// Format returns a text in its canonical form. A text that is not YAML is returned as it is.
	Format(path, text string) string
	// Test runs the tests of a text that has no mistakes.
	Test(ctx context.Context, path, text string) ([]Tested, error)
	// Files returns the paths of the files, sorted. Keeps reports whether there are files at all.
	Files() ([]string, error)
	Keeps() bool
	// FileOf returns the path of the workflow of a graph for the command line, "" if there is none.
	// path is that for Read, "" if the file is not below the folder.
	FileOf(graph string) (command, path string)
	// Read returns a file. A path that is not that of a workflow below the folder is a *PathError.
	Read(path string) (File, error)
	// Write writes a file whose tag is still that of f, and returns its new tag. Another tag is a
	// *ConflictError. A file that does not exist has the tag "".
	Write(f File) (tag string, err error)
}

// File is a file of a workflow.
type File struct {
	Path string // from the folder that is served, with slashes
	Text string
	Tag  string // changes with the content
}

// PathError is returned for a path that the editor does not read or write.
type PathError struct{ Path, Reason string }

func (e *PathError) Error() string { return fmt.Sprintf("the file %.200q %s", e.Path, e.Reason) }

// ConflictError is returned when a file has changed since it was read.
type ConflictError struct{ Now File }

func (e *ConflictError) Error() string {
	return fmt.Sprintf("the file %q has changed since it was opened", e.Now.Path)
}

// Checked is what a check of a text has found.
type Checked struct {
	Name     string // of the workflow
	Mistakes []Mistake
	Drawing  *graph.Drawing // nil if the text has mistakes
	Tests    []string       // the names of its tests
}

// Mistake is a mistake in a text, or a warning. File is set if it is in another file.
type Mistake struct {
	Code, File       string
	Line, Col, Width int // from 1, in characters
	Text, Hint       string
	Warning          bool
	Fix              Fix // of a file itself; Text is "" if there is none
}

// Fix is what to write in place of some characters of the line of a mistake.
type Fix struct {
	Col, Width int
	Text       string
}

// Completion is what may be written in place of the word between two columns.
type Completion struct {
	From    int      `json:"from"`
	To      int      `json:"to"`
	Choices []Choice `json:"choices"`
	About   string   `json:"about"` // what the word is, or ""
}

// Choice is a word that may be written.
type Choice struct {
	Text  string `json:"text"`
	Write string `json:"write"` // with what follows it
	About string `json:"about"`
}

// Tested is the result of a test.
type Tested struct {
	Name     string
	Line     int
	Mistakes []Mistake // none if it has passed
	Error    string    // why its run failed
	Took     time.Duration
}

// Bounds of an edited text.
const (
	maxEdited = 1 << 20 // bytes
	checkTime = 10 * time.Second
	testTime  = 60 * time.Second
)

// editorPage is the page of a text.
type editorPage struct {
	File
	files      []string
	keeps      bool
	checked    *Checked
	tested     []Tested
	ran        bool // its tests
	note, good string
	conflict   *File
	only       bool // what was found, without the text
}

// editor returns the editor for the caller.
func (r *request) editor() (Editor, error) {
	if r.edits == nil {
		return nil, &requestError{http.StatusNotFound, "this studio has no editor"}
	}
	return r.edits, r.source.MayEdit(r.Context())
}

// showEditor is the page of a file, or of a text that is in no file.
func showEditor(r *request) (view, error) {
	e, err := r.editor()
	if err != nil {
		return view{}, err
	}
	p := &editorPage{keeps: e.Keeps(), File: File{Path: r.PathValue("path")}}
	if p.files, err = e.Files(); err != nil {
		return view{}, err
	}
	switch {
	case p.Path != "":
		p.File, err = e.Read(p.Path)
		var wrong *PathError
		if errors.As(err, &wrong) {
			return view{}, &requestError{http.StatusNotFound, wrong.Error()}
		}
		if err != nil {
			return view{}, err
		}
	case len(p.files) == 0 || !p.keeps || r.URL.Query().Has("new"):
		p.Text = sample
	}
	if r.URL.Query().Has("saved") {
		p.good = "The file is saved."
	}
	return p.show(r, e)
}

// sample is a workflow to begin with.
const sample = `version: 1
name: hello
state:
  name: {type: string, required: true}
  greeting: string
input: [name]
output: [greeting]
nodes:
  greet:
    set: {greeting: "Hello ${{ state.name }}"}
    next: ask
  ask:
    approval: {title: Say it, show: "${{ state.greeting }}"}
    next: END
tests:
  - name: greets
    input: {name: Ada}
    answers: [{ask: true}]
    expect: {path: [greet, ask], output: {greeting: Hello Ada}}
`

// show checks the text and returns the page.
func (p *editorPage) show(r *request, e Editor) (view, error) {
	if p.Path == "" && p.Text == "" { // the list of files
		return p.view(r), nil
	}
	ctx, cancel := context.WithTimeout(r.Context(), checkTime)
	defer cancel()
	checked, err := e.Check(ctx, p.Path, p.Text)
	if err != nil {
		return view{}, err
	}
	p.checked = &checked
	return p.view(r), nil
}

// editText takes the form of a text: it is checked, formatted, tested or saved.
func editText(r *request) (view, string, error) {
	e, err := r.editor()
	if err != nil {
		return view{}, "", err
	}
	form := r.PostForm
	p := &editorPage{keeps: e.Keeps(), only: form.Get("only") != ""}
	p.File = File{Path: strings.TrimSpace(form.Get("path")), Text: strings.ReplaceAll(form.Get("text"), "\r\n", "\n"), Tag: form.Get("tag")}
	if len(p.Text) > maxEdited {
		return view{}, "", &requestError{http.StatusRequestEntityTooLarge, fmt.Sprintf("the text must have at most %d bytes (got %d)", maxEdited, len(p.Text))}
	}
	if p.files, err = e.Files(); err != nil {
		return view{}, "", err
	}
	status := 0
	if fix := form.Get("fix"); fix != "" {
		if p.Text, err = fixed(p.Text, fix); err != nil {
			return view{}, "", err
		}
	}
	switch form.Get("act") {
	case "format":
		p.Text = e.Format(p.Path, p.Text)
	case "test":
		ctx, cancel := context.WithTimeout(r.Context(), testTime)
		defer cancel()
		if p.tested, err = e.Test(ctx, p.Path, p.Text); err != nil {
			return view{}, "", err
		}
		p.ran = true
	case "save", "force":
		to, err := p.save(r, e, form.Get("act") == "force")
		if err != nil || to != "" {
			return view{}, to, err
		}
		status = http.StatusUnprocessableEntity
		if p.conflict != nil {
			status = http.StatusPreconditionFailed
		}
	}
	v, err := p.show(r, e)
	if err == nil && status != 0 {
		return view{}, "", &wrongForm{view: v, status: status}
	}
	return v, "", err
}

// fixed returns a text with a fix, as the button for it has it: its line, column, width and text.
func fixed(text, fix string) (string, error) {
	var at Mistake
	parts := strings.SplitN(fix, ":", 4)
	wrong := &requestError{http.StatusUnprocessableEntity, fmt.Sprintf("fix must be LINE:COL:WIDTH:TEXT (got %.100q)", fix)}
	if len(parts) < 4 {
		return "", wrong
	}
	for i, n := range []*int{&at.Line, &at.Col, &at.Width} {
		var err error
		if *n, err = strconv.Atoi(parts[i]); err != nil || *n < 1 {
			return "", wrong
		}
	}
	lines := strings.Split(text, "\n")
	if at.Line > len(lines) {
		return "", wrong
	}
	line := []rune(lines[at.Line-1])
	if at.Col > len(line) || at.Width > len(line)-at.Col+1 { // a sum may be too large for an int
		return "", wrong
	}
	lines[at.Line-1] = string(line[:at.Col-1]) + parts[3] + string(line[at.Col-1+at.Width:])
	return strings.Join(lines, "\n"), nil
}

// save writes the file, and returns the address of its page. to is "" if it was not written.
func (p *editorPage) save(r *request, e Editor, force bool) (to string, err error) {
	if !r.write || !p.keeps {
		return "", &requestError{http.StatusForbidden, "this studio writes no files"}
	}
	if !force {
		ctx, cancel := context.WithTimeout(r.Context(), checkTime)
		defer cancel()
		checked, err := e.Check(ctx, p.Path, p.Text)
		if err != nil {
			return "", err
		}
		if checked.Drawing == nil {
			p.note = "The file was not saved, since it has mistakes."
			return "", nil
		}
	}
	_, err = e.Write(p.File)
	var wrong *PathError
	var conflict *ConflictError
	switch {
	case errors.As(err, &wrong):
		p.note = "The file was not saved: " + wrong.Error() + "."
		return "", nil
	case errors.As(err, &conflict):
		p.note, p.conflict = "The file was not saved: it has changed since it was opened.", &conflict.Now
		return "", nil
	case err != nil:
		return "", err
	}
	return r.editorPath(p.Path) + "?saved=", nil
}

// editorPath returns the address of a file in the editor.
func (r *request) editorPath(path string) string {
	parts := strings.Split(path, "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return r.base + "/editor/" + strings.Join(parts, "/")
}

// served returns the graph of a workflow's name, if there is one.
func (r *request) served(name string) h.Part {
	graphs, err := r.source.Graphs(r.Context())
	if err != nil {
		return nil
	}
	for _, g := range graphs {
		if g.ID == name {
			return h.Parts{h.Text(" · served as "), link(r.graphPath(name), name), h.If(r.write, h.Text(" · "), link(r.graphPath(name)+"/run", "run"))}
		}
	}
	return nil
}
