package studio

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/weftrun/weft/graph"
	h "github.com/weftrun/weft/internal/markup"
)

// editForm is a change of a thread as it was entered.
type editForm struct {
	at                      uint64
	field, value, as, after string
	run                     bool
	mistake                 string
}

// editForm reads the form of a change.
func (r *request) editForm() (*editForm, error) {
	at, err := r.at()
	get := r.PostForm.Get
	return &editForm{at: at, field: get("field"), value: strings.TrimSpace(get("value")), as: get("as"), after: get("goto"), run: get("then") == "run"}, err
}

// edit returns the change of a thread. A form with a mistake has none.
func (f *editForm) edit(g graph.Untyped) (e Edit, ok bool) {
	if !json.Valid([]byte(f.value)) {
		f.mistake = fmt.Sprintf("The value must be JSON; write text in quotes (got %.100q).", f.value)
		return e, false
	}
	e = Edit{At: f.at, As: f.as}
	e.Writes, _ = json.Marshal(map[string]json.RawMessage{f.field: json.RawMessage(f.value)}) // a text, and valid JSON
	switch {
	case f.after != "":
		e.Goto = []string{f.after}
	case f.as != "" && g != nil && chooses(g.Draw(0), f.as):
		f.mistake = fmt.Sprintf("The node %q chooses itself where to go on. Choose it here under “Then go to”.", f.as)
		return e, false
	}
	return e, true
}

// chooses reports whether all ways on from a node are choices of its own.
func chooses(d graph.Drawing, node string) bool {
	i := slices.IndexFunc(d.Nodes, func(n graph.DrawnNode) bool { return n.Name == node })
	if i < 0 {
		return false
	}
	choices := false
	for _, e := range d.Edges {
		if e.From == d.Nodes[i].ID {
			if e.Kind == "edge" || e.Kind == "join" {
				return false
			}
			choices = choices || e.Kind == "choice"
		}
	}
	return choices
}

// edit changes a field of the state at a checkpoint, and goes on if that is asked for.
func edit(r *request) (view, string, error) {
	f, err := r.editForm()
	if err != nil {
		return view{}, "", err
	}
	t, err := r.source.Thread(r.Context(), r.PathValue("id"))
	if err != nil {
		return view{}, "", err
	}
	if e, ok := f.edit(t.Graph); ok {
		err := r.source.Edit(r.Context(), t.ID, e)
		if err == nil {
			if f.run {
				err = r.source.Resume(r.Context(), t)
			}
			return view{}, r.threadPath(t.ID), err
		}
		status, text := r.fault(err)
		if status != http.StatusUnprocessableEntity {
			return view{}, "", err
		}
		f.mistake = text
	}
	v, err := r.threadView(t, f.at, f)
	if err != nil {
		return view{}, "", err
	}
	return view{}, "", &wrongForm{view: v, address: fmt.Sprintf("%s?at=%d", r.threadPath(t.ID), f.at)}
}

// checkEdit answers with the command of a change as it is entered. Nothing is changed.
func checkEdit(r *request) (out checkedForm, err error) {
	f, err := r.editForm()
	if err != nil {
		return out, err
	}
	t, err := r.source.Thread(r.Context(), r.PathValue("id"))
	if err != nil {
		return out, err
	}
	e, ok := f.edit(t.Graph)
	if out.Mistake = f.mistake; !ok {
		return out, nil
	}
	body := map[string]any{"at": e.At, "writes": e.Writes, "run": true}
	if e.As != "" {
		body["as"] = e.As
	}
	if len(e.Goto) > 0 {
		body["goto"] = e.Goto
	}
	out.Command = r.curl(http.MethodPost, r.base+"/api"+escapedPath("threads", t.ID, "edit"), body)
	return out, nil
}

// editForm is the form that changes a field, as it was entered.
func (p *threadPage) editForm(r *request) h.Part {
	f := p.Edited
	if f == nil {
		f = &editForm{}
	}
	var names []string
	for _, e := range schemaForm(p.Graph.Schemas().State).Parts {
		names = append(names, e.Name)
	}
	for _, one := range p.Fields {
		if !slices.Contains(names, one.Name) {
			names = append(names, one.Name)
		}
	}
	slices.Sort(names)
	choice := func(label, name, chosen string, options ...[2]string) h.Part {
		return h.Label(h.Text(label+" "), h.Select(h.Name(name), h.Each(options, func(o [2]string) h.Part {
			return h.Option(h.Value(o[0]), h.Selected(o[0] == chosen), h.Text(o[1]))
		})))
	}
	var fields [][2]string
	for _, name := range names {
		fields = append(fields, [2]string{name, name})
	}
	as, after := [][2]string{{"", "no node: what is due stays due"}}, [][2]string{{"", "where the edges of the node lead"}}
	for _, n := range p.Nodes {
		if n.Kind != "start" && n.Kind != "end" {
			as, after = append(as, [2]string{n.Name, n.Name}), append(after, [2]string{n.Name, n.Name})
		}
	}
	after = append(after, [2]string{graph.End, "the end"})
	path := r.threadPath(p.ID) + "/edit"
	return h.Details(h.If(f.mistake != "", h.Open(true)), h.Summary(h.Text("Edit and go on")),
		h.Form(h.Method("post"), h.Action(path),
			h.P(h.Text(fmt.Sprintf("Changes a field at checkpoint %d, as a branch unless it is the newest.", p.At))),
			h.If(f.mistake != "", h.P(h.Class("error"), h.Role("alert"), h.Text(f.mistake))),
			hidden("at", fmt.Sprint(p.At)),
			h.Div(h.Class("fields"),
				h.If(len(p.Questions) > 0, h.P(h.Class("notice"), h.Text("An open question stays as it was asked. To ask it again, go to an earlier checkpoint and make the change there, in the name of a node that is due there."))),
				choice("Field", "field", f.field, fields...),
				h.Label(h.Text("Value, as JSON "), h.Textarea(h.Name("value"), h.Rows("3"), h.Spellcheck("false"), h.Required(true), h.Text(f.value))),
				choice("In the name of", "as", f.as, as...), choice("Then go to", "goto", f.after, after...)),
			h.P(h.Class("buttons"), h.Button(h.Class("main"), h.Name("then"), h.Value("run"), h.Text("Change and go on")), h.Button(h.Name("then"), h.Value("stop"), h.Text("Change only"))),
			h.Custom("weft-command", h.Data("input", path+"/input"), h.Hidden(true), copied(""))))
}
