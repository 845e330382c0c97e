package studio

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	h "github.com/weftrun/weft/internal/markup"
)

// inputs are the inputs of a field and its parts.
func (e *entry) inputs() h.Part {
	if e.Kind == "object" {
		parts := h.Each(e.Parts, (*entry).inputs)
		if e.Path == "" {
			return parts
		}
		return h.Fieldset(h.Legend(h.Text(e.Label)), e.hint(), parts)
	}
	id := idOf(e.Owner + e.Form + "-" + e.Path)
	about := h.Parts{h.ID(id), h.Name(e.inputName())}
	if e.Mistake != "" {
		about = append(about, h.Aria("invalid", "true"), h.Aria("describedby", id+"-mistake"))
	}
	label := e.Label
	if e.Required {
		label += " (required)"
	}
	return h.Div(h.Class("fields"),
		h.Label(h.For(id), h.Text(label)), e.input(about), e.hint(),
		h.If(e.Mistake != "", h.Span(h.Class("mistake"), h.ID(id+"-mistake"), h.Text(e.Mistake))))
}

// idOf returns a name as the id of an element, which has no white space.
func idOf(name string) string {
	return strings.Map(func(r rune) rune {
		if r <= ' ' {
			return '-'
		}
		return r
	}, name)
}

// maxRows is how many rows a field of text has at most.
const maxRows = 12

// rows are the rows of a field: at least as many as given, and one for each line of the text.
func rows(text string, least int) h.Attr {
	return h.Rows(strconv.Itoa(min(max(least, strings.Count(text, "\n")+1), maxRows)))
}

func (e *entry) hint() h.Part {
	text := e.Schema.Description
	switch e.Kind {
	case "list":
		text = strings.TrimPrefix(text+"; one a line", "; ")
	case "json":
		text = strings.TrimPrefix(text+"; as JSON", "; ")
	}
	return h.If(text != "", h.Small(h.Class("hint"), h.Text(text)))
}

func (e *entry) input(about h.Part) h.Part {
	option := func(value string) h.Part {
		text := value
		var plain string
		if json.Unmarshal([]byte(value), &plain) == nil {
			text = plain
		}
		return h.Option(h.Value(value), h.Selected(e.Text == value), h.Text(text))
	}
	switch e.Kind {
	case "boolean":
		return h.Select(about, h.Option(h.Value(""), h.Text("–")), option("true"), option("false"))
	case "enum":
		var values h.Parts
		for _, v := range e.Schema.Enum {
			values = append(values, option(string(v)))
		}
		return h.Select(about, h.Option(h.Value(""), h.Text("–")), values)
	case "integer", "number":
		mode := map[string]string{"integer": "numeric", "number": "decimal"}[e.Kind]
		return h.Input(about, h.Type("text"), h.InputMode(mode), h.Value(e.Text))
	case "list":
		return h.Textarea(about, h.Rows("3"), h.Text(e.Text))
	case "json":
		return h.Textarea(about, rows(e.Text, 3), h.Spellcheck("false"), h.Text(e.Text))
	}
	return h.Textarea(about, rows(e.Text, 1), h.Text(e.Text))
}

// runForm is the page on which a run is started.
type runForm struct {
	valueForm // the input
	graph     Graph
	thread    string // for another turn; "" for a new thread
	options   runOptions
}

func (f *runForm) view(r *request) view {
	path := r.graphPath(f.graph.ID) + "/run"
	where := "on a new thread"
	if f.thread != "" {
		where = "on thread " + f.thread
	}
	if f.options.assistant != "" {
		where += ", with the settings of the assistant " + f.options.assistant
	}
	return view{"/graphs", "Run " + f.graph.ID, h.Parts{
		h.P(h.Text("Starts a run of "), link(r.graphPath(f.graph.ID), f.graph.ID), h.Text(" "+where+".")),
		h.If(f.mistake != "", h.P(h.Class("error"), h.Role("alert"), h.Text(f.mistake))),
		h.Custom("weft-form", h.Data("input", path+"/input"),
			h.Form(h.Class("bench"), h.Method("post"), h.Action(path), hidden("thread", f.thread), hidden("assistant", f.options.assistant),
				h.Div(f.form.inputs(), f.optionFields(), send("main", "Start the run")),
				section("raw", "As JSON", f.rawField("Input", "12"), h.P(h.Class("buttons"), button("from", "json", "Start with this JSON")), copied(f.command(r))),
			),
		),
	}}
}

// showForm is the page on which a run is started.
func showForm(r *request) (view, error) {
	if !r.write {
		return view{}, &requestError{http.StatusForbidden, "this studio only reads"}
	}
	f, err := r.runForm(r.URL.Query().Get("thread"))
	if err != nil {
		return view{}, err
	}
	f.options.assistant = r.URL.Query().Get("assistant")
	if f.options.assistant != "" || f.options.settings != nil { // the fields would hide the context of the graph's own assistant
		var a assistant
		err := r.source.Do(r.Context(), http.MethodGet, "/assistants/"+url.PathEscape(cmp.Or(f.options.assistant, f.graph.ID)), nil, &a)
		if err != nil && f.options.assistant != "" {
			return view{}, err
		}
		if err == nil {
			f.options.fill(a.Context)
		}
	}
	if f.raw = strings.TrimSpace(r.URL.Query().Get("raw")); f.raw == "" {
		f.raw = "{}"
	}
	return f.view(r), nil
}

func (r *request) runForm(thread string) (*runForm, error) {
	g, err := r.graph(r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	schemas := g.Graph.Schemas()
	return &runForm{graph: g, thread: thread, valueForm: valueForm{noun: "input", form: schemaForm(schemas.Input)}, options: runOptions{settings: settingsForm(schemas.Settings)}}, nil
}

// startRun starts a run with what was entered.
func startRun(r *request) (view, string, error) {
	f, err := r.runForm(r.PostForm.Get("thread"))
	if err != nil {
		return view{}, "", err
	}
	input, ok := f.read(r.PostForm)
	if input == nil {
		input = json.RawMessage("{}")
	}
	start, err := f.options.read(r)
	if err != nil {
		f.mistake, ok = err.Error(), false
	}
	if !ok {
		return view{}, "", &wrongForm{view: f.view(r)}
	}
	start.Graph, start.Thread, start.Input = f.graph.ID, f.thread, input
	thread, err := r.source.Start(r.Context(), start)
	if err != nil {
		status, text := r.fault(err)
		if status >= 400 && status < 500 && status != 401 && status != 403 {
			f.mistake = text
			return view{}, "", &wrongForm{view: f.view(r)}
		}
		return view{}, "", err
	}
	return view{}, r.threadPath(thread), nil
}
