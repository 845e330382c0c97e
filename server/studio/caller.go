package studio

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/weftrun/weft/checkpoint"
	h "github.com/weftrun/weft/internal/markup"
)

// Caller is the public interface of the server, for one caller.
type Caller interface {
	// Do carries out a request of the public interface, such as POST /assistants/search, with the
	// rights of the caller. Body and answer are JSON; either may be nil. A request that is refused
	// is an error.
	Do(ctx context.Context, method, path string, body, answer any) error
	// System describes the server.
	System(ctx context.Context) (System, error)
}

// System describes a server. It has no names of threads and no secrets.
type System struct {
	Version  string               `json:"version"`
	Go       string               `json:"go"`
	Platform string               `json:"platform"`
	Started  time.Time            `json:"started"`
	Auth     bool                 `json:"auth"`
	Graphs   int                  `json:"graphs"`
	Queue    QueueLoad            `json:"queue"`
	Store    string               `json:"store"`
	Findings []checkpoint.Finding `json:"findings"` // of the doctor, the most severe first
	Limits   json.RawMessage      `json:"limits"`
}

// QueueLoad is how much there is to do.
type QueueLoad struct {
	Pending int       `json:"pending"`
	Running int       `json:"running"`
	Streams int       `json:"streams"` // requests that follow runs in this process
	Oldest  time.Time `json:"oldest,omitzero"`
	Counted bool      `json:"counted"` // a process that runs no runs does not count them
}

// recordsPage is how many records a page lists.
const recordsPage = 50

// more is one record more than a page has, to see whether another page follows.
const more = recordsPage + 1

// mention shows the request of the public interface that does the same as a page or a form.
func (r *request) mention(method, path string, body any) h.Part {
	return copied(r.curl(method, path, body))
}

// curl is the command of a request.
func (r *request) curl(method, path string, body any) string {
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	text := "curl"
	if method != http.MethodGet {
		text += " -X " + method
	}
	text += " " + quoted(scheme+"://"+r.Host+path)
	if _, _, ok := r.BasicAuth(); ok {
		text += ` -H "Authorization: Bearer $WEFT_KEY"`
	}
	if body != nil {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		_ = e.Encode(body) // of values that are JSON
		text += " -H 'Content-Type: application/json' -d " + quoted(strings.TrimSpace(b.String()))
	}
	return text
}

// around leads to the pages of a list before and after the one that has shown records from offset.
func (r *request) around(path string, offset uint64, shown int, another bool) h.Part {
	before, after := "", ""
	if offset > 0 {
		before = r.with(path, "offset", fmt.Sprint(max(offset, recordsPage)-recordsPage))
	}
	if another {
		after = r.with(path, "offset", fmt.Sprint(offset+recordsPage))
	}
	if shown == 0 && before == "" {
		return nil
	}
	return h.P(
		h.Text(fmt.Sprintf("%d to %d", min(offset+1, offset+uint64(shown)), offset+uint64(shown))),
		h.If(before != "", h.Text(" · "), neighbour(before, "prev", "before")),
		h.If(after != "", h.Text(" · "), neighbour(after, "next", "after")),
	)
}

// cutPage cuts the record off that shows whether another page follows.
func cutPage[T any](list []T) (page []T, another bool) {
	if len(list) > recordsPage {
		return list[:recordsPage], true
	}
	return list, false
}

// object reads an object of JSON from a form; nil if there is none.
func (r *request) object(name string) (json.RawMessage, error) {
	text := strings.TrimSpace(r.PostForm.Get(name))
	if text == "" {
		return nil, nil
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &all); err != nil || all == nil {
		return nil, &requestError{http.StatusUnprocessableEntity, fmt.Sprintf("%s must be an object of JSON (got %.100q)", name, text)}
	}
	return json.RawMessage(text), nil
}

// writeForm is a form behind a summary, which is shown to those who may write.
func (r *request) writeForm(title, action string, inputs ...h.Part) h.Part {
	return h.If(r.write, h.Details(h.Class("act"), h.Summary(h.Text(title)), h.Form(h.Method("post"), h.Action(action), h.Parts(inputs))))
}

// send is the button of a form.
func send(class, text string) h.Part {
	return h.P(h.Class("buttons"), h.Button(h.Class(class), h.Text(text)))
}

// textField is a field of a form with a line of text, and jsonField one with JSON.
func textField(label, name, value string, required bool) h.Part {
	return h.Label(h.Text(label+" "), h.Input(h.Name(name), h.Value(value), h.Autocomplete("off"), h.Required(required)))
}

func jsonField(label, name, value string) h.Part {
	return h.Label(h.Text(label+", as JSON "), h.Textarea(h.Name(name), h.Rows("4"), h.Spellcheck("false"), h.Text(value)))
}

func hidden(name, value string) h.Part {
	return h.Input(h.Type("hidden"), h.Name(name), h.Value(value))
}

// pretty returns JSON for a field of a form; "" for nothing.
func pretty(value json.RawMessage) string {
	if text := strings.TrimSpace(string(value)); text == "" || text == "null" || text == "{}" {
		return ""
	}
	var b bytes.Buffer
	if json.Indent(&b, readable(value), "", "  ") != nil {
		return string(value)
	}
	return b.String()
}

// factsTable is a table of names and values.
func factsTable(rows ...h.Part) h.Part {
	return h.Table(h.Class("state"), h.Tbody(h.Parts(rows)))
}

func fact(name string, value ...h.Part) h.Part {
	return h.Tr(h.Th(h.Scope("row"), h.Text(name)), h.Td(h.Parts(value)))
}

// escapedPath joins parts of a path.
func escapedPath(parts ...string) string {
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return "/" + strings.Join(parts, "/")
}
