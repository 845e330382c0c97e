package studio

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	h "github.com/weftrun/weft/internal/markup"
)

// runOptions are the settings of a run, as they were entered.
type runOptions struct {
	assistant, context, durability, multitask string
	before, after                             []string
	settings                                  *entry          // of the schema; nil without one
	all                                       json.RawMessage // the context with the settings
}

// fill enters the context of an assistant: into the fields, and what has none beside them.
func (o *runOptions) fill(context json.RawMessage) {
	if o.context, o.all = pretty(context), context; o.settings == nil {
		return
	}
	o.settings.fill(context)
	o.context = pretty(o.settings.beside(context))
}

// readSettings takes the fields of the settings, and returns them with the JSON beside them.
func (o *runOptions) readSettings(form url.Values, beside json.RawMessage) (json.RawMessage, error) {
	if o.settings == nil {
		return beside, nil
	}
	value, ok := o.settings.read(form)
	if !ok {
		return nil, &requestError{http.StatusUnprocessableEntity, "some settings have mistakes"}
	}
	if value = o.settings.merge(beside, value); string(value) == "{}" {
		return nil, nil
	}
	return value, nil
}

// The values of settings; the first is the default.
var (
	durabilities = []string{"", "sync", "async", "exit"}
	multitasks   = []string{"reject", "enqueue", "interrupt", "rollback"}
)

// read takes the settings of a form.
func (o *runOptions) read(r *request) (s Start, err error) {
	form := r.PostForm
	o.assistant, o.context, o.durability, o.multitask = form.Get("assistant"), strings.TrimSpace(form.Get("context")), form.Get("durability"), form.Get("multitask")
	o.before, o.after = form["before"], form["after"]
	beside, err := r.object("context")
	if err == nil {
		s.Context, err = o.readSettings(form, beside)
	}
	if o.all = s.Context; err != nil {
		return s, err
	}
	if !slices.Contains(durabilities, o.durability) {
		return s, &requestError{http.StatusUnprocessableEntity, fmt.Sprintf("durability must be sync, async or exit (got %.100q)", o.durability)}
	}
	if o.multitask != "" && !slices.Contains(multitasks, o.multitask) {
		return s, &requestError{http.StatusUnprocessableEntity, fmt.Sprintf("multitask must be one of %s (got %.100q)", strings.Join(multitasks, ", "), o.multitask)}
	}
	s.Assistant, s.Durability, s.Multitask, s.Before, s.After = o.assistant, o.durability, o.multitask, o.before, o.after
	return s, nil
}

// optionFields are the inputs of the settings.
func (f *runForm) optionFields() h.Part {
	choice := func(label, name, chosen string, values []string) h.Part {
		return h.Label(h.Text(label+" "), h.Select(h.Name(name), h.Each(values, func(v string) h.Part {
			text := v
			if v == "" {
				text = "default"
			}
			return h.Option(h.Value(v), h.Selected(v == chosen), h.Text(text))
		})))
	}
	nodes := func(label, name string, chosen []string) h.Part {
		var boxes h.Parts
		for _, n := range f.graph.Graph.Draw(0).Nodes {
			if n.Kind != "start" && n.Kind != "end" {
				boxes = append(boxes, h.Label(h.Input(h.Type("checkbox"), h.Name(name), h.Value(n.Name), h.If(slices.Contains(chosen, n.Name), h.Checked(true))), h.Text(" "+n.Name)))
			}
		}
		return h.Fieldset(h.Legend(h.Text(label)), h.Div(h.Class("choices"), boxes))
	}
	o := f.options
	var settings h.Part = jsonField("Context", "context", o.context)
	if o.settings != nil {
		settings = h.Parts{h.Fieldset(h.Legend(h.Text("Context")), o.settings.hint(), o.settings.inputs(), jsonField("More of it", "context", o.context))}
	}
	return h.Details(h.Class("act"), h.If(o.context != "" || o.settings != nil, h.Open(true)), h.Summary(h.Text("Settings of the run")), h.Div(h.Class("fields"),
		settings,
		choice("Durability", "durability", o.durability, durabilities), choice("If the thread is busy", "multitask", o.multitask, multitasks),
		nodes("Pause before", "before", o.before), nodes("Pause after", "after", o.after)))
}

// command is the request that starts the run as the form is.
func (f *runForm) command(r *request) string {
	assistant := f.graph.ID
	if f.options.assistant != "" {
		assistant = f.options.assistant
	}
	input := json.RawMessage(f.raw)
	if !json.Valid(input) {
		input = json.RawMessage("{}")
	}
	body := map[string]any{"assistant_id": assistant, "input": input}
	path := "/runs/wait"
	if f.thread != "" {
		path = escapedPath("threads", f.thread) + path
	}
	o := f.options
	if pretty(o.all) != "" {
		body["context"] = o.all
	}
	if o.durability != "" {
		body["durability"] = o.durability
	}
	if f.thread != "" {
		body["multitask_strategy"] = cmp.Or(o.multitask, multitasks[0])
	}
	if len(o.before) > 0 {
		body["interrupt_before"] = o.before
	}
	if len(o.after) > 0 {
		body["interrupt_after"] = o.after
	}
	return r.curl(http.MethodPost, path, body)
}
