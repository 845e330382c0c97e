package server

import (
	"bytes"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/weftrun/weft/internal/markup"
)

const docsCSS markup.CSS = `body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color-scheme:light dark}
details{border:1px solid #8886;border-radius:4px;margin:.4rem 0;padding:.3rem .6rem}
summary{cursor:pointer;font-family:ui-monospace,monospace}
b{display:inline-block;min-width:4.5rem}
table{border-collapse:collapse;margin:.5rem 0}
td,th{text-align:left;vertical-align:top;padding:.15rem .8rem .15rem 0}
pre{overflow:auto;white-space:pre-wrap}`

// getDocs answers with a page about the endpoints, made of the document at /openapi.json. It loads
// no other file.
func getDocs(c *call) error {
	data, err := describe(c.server.config.Version)
	if err != nil {
		return err
	}
	d := gjson.ParseBytes(data)
	groups := map[string]markup.Parts{}
	for _, path := range slices.Sorted(maps.Keys(d.Get("paths").Map())) {
		group, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
		for method, op := range d.Get("paths").Map()[path].Map() {
			groups[group] = append(groups[group], docsOperation(method, path, op))
		}
	}
	page := markup.Parts{
		markup.H1(markup.Text(d.Get("info.title").String() + " " + d.Get("info.version").String())),
		markup.P(markup.Text(d.Get("info.description").String()+" "), markup.A(markup.Href("openapi.json"), markup.Text("OpenAPI document"))),
	}
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		page = append(page, markup.H2(markup.Text(group)), groups[group])
	}
	page = append(page, markup.H2(markup.Text("Schemas")))
	d.Get("components.schemas").ForEach(func(name, schema gjson.Result) bool {
		page = append(page, markup.Details(markup.ID(name.String()), markup.Summary(markup.Text(name.String())),
			markup.Pre(markup.Text(gjson.Get(schema.Raw, "@pretty").Raw))))
		return true
	})
	var b bytes.Buffer
	err = markup.Document(&b, markup.HTML(markup.Lang("en"),
		markup.Head(markup.Meta(markup.Charset("utf-8")), markup.Title(markup.Text("Endpoints")), markup.Style(docsCSS)),
		markup.Body(page)))
	if err != nil {
		return err
	}
	c.w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'")
	return c.write(http.StatusOK, "text/html; charset=utf-8", b.Bytes())
}

// docsOperation describes an endpoint.
func docsOperation(method, path string, op gjson.Result) markup.Part {
	rows := markup.Parts{}
	row := func(name string, what ...markup.Part) {
		rows = append(rows, markup.Tr(markup.Th(markup.Scope("row"), markup.Text(name)), markup.Td(what...)))
	}
	for _, p := range op.Get("parameters").Array() {
		row(p.Get("name").String(), markup.Text("in the "+p.Get("in").String()))
	}
	if body := op.Get("requestBody"); body.Exists() {
		row("body", docsSchema(body))
	}
	for _, status := range slices.Sorted(maps.Keys(op.Get("responses").Map())) {
		answer := op.Get("responses").Map()[status]
		row(status, markup.Text(answer.Get("description").String()+" "), docsSchema(answer))
	}
	return markup.Details(markup.Summary(markup.B(markup.Text(strings.ToUpper(method))), markup.Text(path)), markup.Table(markup.Tbody(rows)))
}

// docsSchema names the schema of a body.
func docsSchema(body gjson.Result) markup.Part {
	parts := markup.Parts{}
	body.Get("content").ForEach(func(mediaType, content gjson.Result) bool {
		ref := content.Get("schema.$ref").String()
		if name := ref[strings.LastIndex(ref, "/")+1:]; name != "" {
			parts = append(parts, markup.A(markup.Href("#"+name), markup.Text(name)))
		} else {
			parts = append(parts, markup.Text(mediaType.String()))
		}
		return true
	})
	return parts
}
