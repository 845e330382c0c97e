package studio

import (
	"encoding/json"
	"fmt"
	"strings"

	h "github.com/weftrun/weft/internal/markup"
	"github.com/weftrun/weft/internal/picture"
)

// view is the page. Each part has what a check of the text has found, so that a script replaces it
// as the text changes.
func (p *editorPage) view(r *request) view {
	title := "Editor"
	if p.Path != "" {
		title = "Editor: " + p.Path
	}
	if p.checked == nil {
		return view{"/editor", title, h.Parts{p.list(r), h.If(r.write, h.P(h.A(h.Class("button"), h.Href(r.base+"/editor?new="), h.Text("New workflow"))))}}
	}
	if p.only {
		return view{"/editor", title, h.Parts{p.found(r), p.drawn(r), p.tests()}}
	}
	return view{"/editor", title, h.Parts{
		h.If(p.keeps, h.P(link(r.base+"/editor", "all files"))),
		h.If(p.good != "", h.P(h.Class("notice", "good"), h.Role("status"), h.Text(p.good))),
		h.If(p.note != "", h.P(h.Class("error"), h.Role("alert"), h.Text(p.note))),
		p.conflicting(),
		h.Custom("weft-editor", h.Data("path", p.Path), h.Data("tag", p.Tag), h.Data("action", r.base+"/editor"),
			h.Div(h.Class("bench", "editing"), p.form(r), h.Div(h.Class("inspector"), p.found(r), p.drawn(r), p.tests()))),
	}}
}

// list leads to the files.
func (p *editorPage) list(r *request) h.Part {
	if len(p.files) == 0 {
		return muted("There are no workflows.")
	}
	return h.Ul(h.Class("files-list"), h.Each(p.files, func(f string) h.Part { return h.Li(link(r.editorPath(f), f)) }))
}

func (p *editorPage) form(r *request) h.Part {
	act := func(class, name, text string) h.Part {
		return h.Parts{h.Button(h.Class(class), h.Name("act"), h.Value(name), h.Text(text)), h.Text("\n")}
	}
	name := h.Input(h.Type("hidden"), h.Name("path"), h.Value(p.Path))
	if p.keeps && p.Tag == "" {
		name = h.Div(h.Class("fields"), h.Label(h.Text("File "), h.Input(h.Name("path"), h.Value(p.Path), h.Placeholder("hello.yaml"), h.Autocomplete("off"))))
	}
	saves := p.keeps && r.write
	return h.Form(h.ID("edit"), h.Method("post"), h.Action(r.base+"/editor"), h.Class("edit"), name, h.Input(h.Type("hidden"), h.Name("tag"), h.Value(p.Tag)),
		h.Label(h.For("text"), h.Text("Workflow")),
		h.Div(h.Class("code"), h.Textarea(h.ID("text"), h.Name("text"), h.Rows("30"), h.Spellcheck("false"), h.Autocomplete("off"), h.Wrap("off"), h.Text(p.Text))),
		h.P(h.ID("word"), h.Class("hint"), h.Hidden(true)),
		h.P(h.Class("buttons"), h.If(saves, act("main", "save", "Save")), act("", "check", "Check"), act("", "test", "Run its tests"), act("", "format", "Format"),
			h.If(saves && (p.note != ""), act("danger", "force", "Save all the same"))),
		h.If(!p.keeps, muted("The text is checked, and not stored.")),
		h.P(copied("weft validate "+quoted(p.fileName()))),
	)
}

func (p *editorPage) fileName() string {
	if p.Path == "" {
		return "hello.yaml"
	}
	return p.Path
}

// conflicting shows the file as it is now, beside what was not saved.
func (p *editorPage) conflicting() h.Part {
	if p.conflict == nil {
		return nil
	}
	return h.Details(h.Summary(h.Text("The file as it is now")), h.Pre(h.Tabindex("0"), h.Text(p.conflict.Text)))
}

// found lists the mistakes, with their places for a script.
func (p *editorPage) found(r *request) h.Part {
	type place struct {
		Line, Col, Width int
		Warning          bool
		Text             string
	}
	places := []place{}
	mistakes, warnings := 0, 0
	for _, m := range p.checked.Mistakes {
		if m.Warning {
			warnings++
		} else {
			mistakes++
		}
		if m.File == "" {
			places = append(places, place{m.Line, m.Col, m.Width, m.Warning, m.Code + ": " + m.Text})
		}
	}
	data, err := json.Marshal(places)
	if err != nil {
		return nil
	}
	verdict := h.P(h.Class("notice", "good"), h.Text("No mistakes"), h.If(warnings > 0, h.Text(", "+plural(warnings, "warning", "warnings"))), r.served(p.checked.Name))
	if mistakes > 0 {
		verdict = h.P(h.Class("error"), h.Text(plural(mistakes, "mistake", "mistakes")))
	}
	return h.Div(h.ID("found"), h.Class("part"), h.Data("part", ""), h.Data("places", string(data)),
		section("mistakes", "Mistakes", verdict, h.If(len(p.checked.Mistakes) > 0, h.Ol(h.Class("mistakes"), h.Each(p.checked.Mistakes, Mistake.item)))))
}

// item is a mistake in the list.
func (m Mistake) item() h.Part {
	at := fmt.Sprintf("%d:%d", m.Line, m.Col)
	place := h.Part(h.A(h.Href(fmt.Sprintf("#L%d", m.Line)), h.Data("line", fmt.Sprint(m.Line)), h.Data("col", fmt.Sprint(m.Col)), h.Text(at)))
	if m.File != "" {
		place = h.Text(m.File + ":" + at)
	}
	kind := "mistake"
	if m.Warning {
		kind = "warning"
	}
	return h.Li(place, h.Text(" "), h.B(h.Text(kind)), h.Text(" "+m.Text),
		h.If(m.Fix.Text != "", h.Text(" "), h.Button(h.FormOf("edit"), h.Class("fix"), h.Name("fix"), h.Value(fmt.Sprintf("%d:%d:%d:%s", m.Line, m.Fix.Col, m.Fix.Width, m.Fix.Text)), h.Text("Write "+m.Fix.Text))),
		h.If(m.Hint != "", h.Small(h.Class("hint"), h.Text(m.Hint))), h.If(m.Code != "", h.Small(h.Class("hint"), copied("weft explain "+m.Code))))
}

// drawn is the picture of the workflow. While the text has mistakes, a script leaves the last one.
func (p *editorPage) drawn(r *request) h.Part {
	d := p.checked.Drawing
	if d == nil {
		return h.Div(h.ID("drawn"), h.Class("part"), h.Data("part", ""), h.Data("empty", ""), section("picture", "Picture", muted("The text has mistakes, so there is no picture.")))
	}
	return part("drawn", section("picture", "Picture", pictureBox("Picture of the workflow", r.draw(*d, picture.Options{})), folded("As text", d.Text())))
}

// tests are the results of the tests, or their names.
func (p *editorPage) tests() h.Part {
	if !p.ran {
		return part("tested", h.If(len(p.checked.Tests) > 0, section("tests", "Tests", muted(plural(len(p.checked.Tests), "test", "tests")+": "+strings.Join(p.checked.Tests, ", ")))))
	}
	if len(p.tested) == 0 {
		return part("tested", section("tests", "Tests", muted("The workflow has no tests, or has mistakes.")))
	}
	return part("tested", section("tests", "Tests", h.Ul(h.Class("tests"), h.Each(p.tested, func(t Tested) h.Part {
		passed := len(t.Mistakes) == 0 && t.Error == ""
		verdict, class := "failed", "status-error"
		if passed {
			verdict, class = "passed", "status-idle"
		}
		return h.Li(h.Span(h.Class("status", class), h.Text(verdict)), h.Text(" "), h.A(h.Href(fmt.Sprintf("#L%d", t.Line)), h.Data("line", fmt.Sprint(t.Line)), h.Data("col", "1"), h.Text(t.Name)),
			h.Text(" in "+picture.Duration(t.Took)), h.If(t.Error != "", h.P(h.Class("error"), h.Text(t.Error))),
			h.If(len(t.Mistakes) > 0, h.Ol(h.Class("mistakes"), h.Each(t.Mistakes, Mistake.item))))
	})), h.P(copied("weft test "+quoted(p.fileName())))))
}
