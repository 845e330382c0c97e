package studio

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"

	h "github.com/weftrun/weft/internal/markup"
)

const orderSchema = `{"type":"object","required":["name"],"properties":{
	"name":{"type":"string"},"size":{"enum":["s","m",3]},"count":{"type":"integer","minimum":1},"weight":{"type":["null","number"]},"gift":{"type":"boolean"},
	"tags":{"type":["null","array"],"items":{"type":"string"}},"points":{"type":"array","items":{"type":"integer"}},
	"to":{"type":"object","required":["city"],"properties":{"city":{"type":"string"},"zip":{"type":"string"}}},"rest":{}}}`

func TestForm_ReadsAnInput(t *testing.T) {
	f := schemaForm(json.RawMessage(orderSchema))
	value, ok := f.read(url.Values{
		"in:name": {"a \"b\""}, "in:size": {"3"}, "in:count": {" 2 "}, "in:weight": {"1.5"}, "in:gift": {"false"}, "in:tags": {"x\r\n y z \r\n"}, "in:points": {"1\n2"},
		"in:to.city": {"Oslo"}, "in:rest": {`[1]`},
	})
	if want := `{"count":2,"gift":false,"name":"a \"b\"","points":[1,2],"rest":[1],"size":3,"tags":["x","y z"],"to":{"city":"Oslo"},"weight":1.5}`; !ok || string(value) != want {
		t.Errorf("got  %s, %v\nwant %s", value, ok, want)
	}
	value, ok = f.read(url.Values{"in:name": {"a"}})
	if !ok || string(value) != `{"name":"a"}` {
		t.Errorf("an optional object that is left out gives %s, %v", value, ok)
	}
}

func TestForm_ReportsMistakesAtTheirFields(t *testing.T) {
	f := schemaForm(json.RawMessage(orderSchema))
	_, ok := f.read(url.Values{
		"in:size": {"4"}, "in:count": {"0"}, "in:weight": {"much"}, "in:gift": {"1"}, "in:points": {"1\nx"}, "in:to.zip": {"1"}, "in:rest": {`[`},
	})
	if ok {
		t.Fatal("the form has no mistakes")
	}
	out := checkedForm{Fields: map[string]string{}, Mistakes: map[string]string{}}
	f.collect(&out)
	for name, want := range map[string]string{
		"in:name": "a value is required", "in:size": "one of the values", "in:count": "at least 1", "in:weight": "a number", "in:gift": "true or false",
		"in:points": `"x": this must be a number`, "in:to.city": "a value is required", "in:rest": "must be JSON",
	} {
		if !strings.Contains(out.Mistakes[name], want) {
			t.Errorf("%s: got the mistake %q, want %q", name, out.Mistakes[name], want)
		}
	}
	if len(out.Mistakes) != 8 || out.Fields["in:count"] != "0" {
		t.Errorf("got %+v", out)
	}
	page := h.String(f.inputs())
	for _, want := range []string{`aria-invalid="true" aria-describedby="in-to.city-mistake"`, `<option value="&#34;s&#34;">s</option>`, "name (required)", "<legend>to</legend>"} {
		if !strings.Contains(page, want) {
			t.Errorf("the form does not hold %s:\n%s", want, page)
		}
	}
}

func TestForm_WithoutAnObject(t *testing.T) {
	for _, text := range []string{"", "{}", `{"type":"string"}`, `{"$ref":"#/x"}`, `{"type":"object"}`} {
		if f := schemaForm(json.RawMessage(text)); f.Kind != "json" {
			t.Errorf("%s gives the form %q", text, f.Kind)
		}
	}
}

// A value that fits a schema is the same after it was entered and read.
func TestForm_RoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		schema, value := drawObject(t, 0)
		text, err := json.Marshal(schema)
		if err != nil {
			t.Fatal(err)
		}
		want, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		f := schemaForm(text)
		f.fill(want)
		form := url.Values{}
		f.enter(form)
		got, ok := f.read(form)
		if !ok || string(got) != string(want) {
			t.Fatalf("%s: got %s, %v; want %s", text, got, ok, want)
		}
	})
}

func TestSettings_KeepWhatHasNoField(t *testing.T) {
	const text = `{"type":"object","properties":{"style":{"type":"string"},"n.o":{"type":"integer"},"to":{"type":"object","properties":{
		"city":{"type":"string"},"by":{"type":"object","properties":{"rail":{"type":"boolean"}}}}}}}`
	for _, c := range []struct{ name, context, beside, change, want string }{
		{"nested", `{"other":1,"style":"x","to":{"by":{"cost":2,"rail":true},"city":"Oslo","zip":[3]}}`, `{"other":1,"to":{"by":{"cost":2},"zip":[3]}}`,
			"set:to.city=Rome", `{"other":1,"style":"x","to":{"by":{"cost":2,"rail":true},"city":"Rome","zip":[3]}}`},
		{"nothing beside", `{"style":"x","to":{"city":"Oslo"}}`, "", "set:style=y", `{"style":"y","to":{"city":"Oslo"}}`},
		{"no object", `{"to":{"by":7,"city":"Oslo"}}`, `{"to":{"by":7}}`, "set:style=y", `{"style":"y","to":{"by":7,"city":"Oslo"}}`},
		{"no object, but fields", `{"to":7}`, `{"to":7}`, "set:to.city=Rome", `{"to":{"city":"Rome"}}`},
		{"a dot in a name", `{"n.o":1,"o":2}`, `{"o":2}`, "set:n.o=3", `{"n.o":3,"o":2}`},
		{"empty values", `{"n.o":null,"style":"","to":{}}`, `{"n.o":null,"style":"","to":{}}`, "set:n.o=1", `{"n.o":1,"style":"","to":{}}`},
	} {
		o := runOptions{settings: settingsForm(json.RawMessage(text))}
		o.fill(json.RawMessage(c.context))
		if want := pretty(json.RawMessage(c.beside)); o.context != want {
			t.Errorf("%s: beside the fields is %s, want %s", c.name, o.context, want)
		}
		form := url.Values{}
		o.settings.enter(form)
		for range 2 {
			got, err := o.readSettings(form, json.RawMessage(o.context))
			if err != nil || string(got) != c.want && form.Has("changed") || string(got) != c.context && !form.Has("changed") {
				t.Errorf("%s: got %s, %v; want %s, and %s after the change", c.name, got, err, c.context, c.want)
			}
			name, value, _ := strings.Cut(c.change, "=")
			form.Set(name, value)
			form.Set("changed", "")
		}
	}
}

// A context is the same after it was entered and read, whatever it has that is not in the schema.
func TestSettings_RoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		schema, value := drawObject(t, 0)
		text, err := json.Marshal(schema)
		if err != nil {
			t.Fatal(err)
		}
		drawMore(t, value)
		context, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		o := runOptions{settings: settingsForm(text)}
		o.fill(context)
		form := url.Values{}
		o.settings.enter(form)
		got, err := o.readSettings(form, json.RawMessage(o.context))
		var members map[string]any
		if err == nil {
			err = json.Unmarshal(got, &members)
		}
		again, _ := json.Marshal(members) // in the order of the names
		if err != nil || string(again) != string(context) {
			t.Fatalf("%s: got %s, %v; want %s", text, got, err, context)
		}
	})
}

// drawMore adds members that no schema has.
func drawMore(t *rapid.T, value map[string]any) {
	for _, v := range value {
		if members, ok := v.(map[string]any); ok && members["any"] == nil {
			drawMore(t, members)
		}
	}
	if rapid.Bool().Draw(t, "more") {
		value["x"] = rapid.SampledFrom([]any{1, "", nil, map[string]any{"a": 1}}).Draw(t, "value")
	}
}

// enter writes what the inputs have.
func (e *entry) enter(form url.Values) {
	for _, p := range e.Parts {
		p.enter(form)
	}
	if e.Kind != "object" {
		form.Set(e.inputName(), strings.ReplaceAll(e.Text, "\n", "\r\n"))
	}
}

func drawObject(t *rapid.T, depth int) (schema, value map[string]any) {
	properties, members := map[string]any{}, map[string]any{}
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}), 1, 5, rapid.ID[string]).Draw(t, "names") {
		properties[name], members[name] = drawMember(t, depth)
	}
	return map[string]any{"type": "object", "properties": properties}, members
}

func drawMember(t *rapid.T, depth int) (schema, value any) {
	word := rapid.StringMatching(`[a-z"<&é]([ a-z"<&é]{0,8}[a-z])?`)
	switch kind := rapid.IntRange(0, 6).Draw(t, "kind"); {
	case kind == 0 && depth < 2:
		return drawObject(t, depth+1)
	case kind == 1:
		return map[string]any{"type": "integer"}, rapid.IntRange(-99, 99).Draw(t, "integer")
	case kind == 2:
		return map[string]any{"type": "boolean"}, rapid.Bool().Draw(t, "boolean")
	case kind == 3:
		return map[string]any{"enum": []any{"x", 1, true}}, rapid.SampledFrom([]any{"x", 1, true}).Draw(t, "enum")
	case kind == 4:
		return map[string]any{"type": "array", "items": map[string]any{"type": "string"}}, rapid.SliceOfN(word, 1, 3).Draw(t, "list")
	case kind == 5:
		return map[string]any{}, map[string]any{"any": rapid.IntRange(0, 9).Draw(t, "any")}
	}
	return map[string]any{"type": "string"}, word.Draw(t, "text")
}
