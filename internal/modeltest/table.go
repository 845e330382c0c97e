package modeltest

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/internal/recordedhttp"
	"github.com/weftrun/weft/state/message"
)

// probes try what the rows of the table in docs/models.md claim. nil is a row that is not tried.
var probes = map[string]func(*prober) bool{
	"streamed text":                      func(p *prober) bool { return p.streams(2, func(c model.Chunk) bool { return c.Text != "" }) },
	"calls of tools, several at once":    func(p *prober) bool { return p.answers("ok", regexp.MustCompile(`call .*; call `)) },
	"choice of a tool, of any, of none":  (*prober).choices,
	"an answer that matches a schema":    (*prober).schema,
	"other forms (`answers`)":            nil,
	"reasoning, streamed":                func(p *prober) bool { return p.streams(1, func(c model.Chunk) bool { return c.Reasoning != "" }) },
	"reasoning, sent back":               (*prober).reasoning,
	"images in messages":                 (*prober).images,
	"images in results of tools":         (*prober).imageOfTool,
	"images in answers":                  nil,
	"tokens, and those of the cache":     func(p *prober) bool { return p.answers("ok", regexp.MustCompile(`usage \d+ \d+ [1-9]`)) },
	"refusals":                           func(p *prober) bool { return p.answers(string(model.Refused), regexp.MustCompile(``)) },
	"wait that the server asks for":      func(p *prober) bool { return p.answers(string(model.RateLimited), regexp.MustCompile(`try again in`)) },
	"options by their names on the wire": (*prober).options,
	"embeddings of texts":                func(p *prober) bool { _, ok := p.model().(model.Embedder); return ok },
}

// Table compares the column of a provider in docs/models.md with what the provider does. A cell
// that begins with "no" claims that it does not.
func (p Provider) Table(t *testing.T, column string) {
	cells := columnOf(t, page(t), column)
	pr := &prober{t: t, p: p, cases: load(t, "answers")}
	for name, probe := range probes {
		cell, ok := cells[name]
		delete(cells, name)
		if !ok {
			t.Errorf("docs/models.md has no row %q", name)
			continue
		}
		if probe == nil {
			continue
		}
		if got, claimed := probe(pr), !strings.HasPrefix(cell, "no"); got != claimed {
			t.Errorf("%s: %s: docs/models.md has %q, and the test finds %v", column, name, cell, got)
		}
	}
	for name := range cells {
		t.Errorf("docs/models.md has a row %q that no probe tries", name)
	}
	if line := regexp.MustCompile("`[a-z/]*" + column + "`: (\\d+) answers").FindString(page(t)); !strings.HasSuffix(line, " "+itoa(len(pr.cases))+" answers") {
		t.Errorf("docs/models.md has %q, and there are %d answers", line, len(pr.cases))
	}
}

func itoa(n int) string { data, _ := json.Marshal(n); return string(data) }

// page returns docs/models.md.
func page(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	for err == nil && dir != filepath.Dir(dir) {
		if text, err := os.ReadFile(filepath.Join(dir, "docs", "models.md")); err == nil {
			return string(text)
		}
		dir = filepath.Dir(dir)
	}
	t.Fatalf("there is no docs/models.md above this folder (%v)", err)
	return ""
}

// columnOf returns the cells of a column by their rows.
func columnOf(t testing.TB, text, column string) map[string]string {
	t.Helper()
	cells, at := map[string]string{}, -1
	for line := range strings.Lines(text) {
		row := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range row {
			row[i] = strings.TrimSpace(row[i])
		}
		switch {
		case at < 0 && row[0] == "":
			at = slices.Index(row, column)
		case at >= 0 && len(row) <= at:
			return cells
		case at >= 0 && !strings.HasPrefix(row[0], "-"):
			cells[row[0]] = row[at]
		}
	}
	t.Fatalf("docs/models.md has no table with the column %q", column)
	return nil
}

// prober tries one provider.
type prober struct {
	t     testing.TB
	p     Provider
	cases []recordedhttp.Case
}

// answers reports whether there is an answer with that result.
func (p *prober) answers(want string, text *regexp.Regexp) bool {
	return slices.ContainsFunc(p.cases, func(c recordedhttp.Case) bool { return c.Want == want && text.MatchString(c.Text) })
}

func (p *prober) model(cases ...recordedhttp.Case) model.Model {
	url, c, _ := Listen(p.t, append(cases, p.fine())...)
	return p.p.open(p.t, url, c)
}

func (p *prober) fine() recordedhttp.Case { return Prepared(p.t, "as-it-should-be") }

// streams reports whether an answer has so many chunks of a kind.
func (p *prober) streams(many int, is func(model.Chunk) bool) bool {
	for _, c := range p.cases {
		if c.Want != "ok" || c.Then != "" {
			continue
		}
		n := 0
		for chunk, err := range p.model(c).Stream(p.t.Context(), request(c)) {
			if err == nil && is(chunk) {
				n++
			}
		}
		if n >= many {
			return true
		}
	}
	return false
}

// sent returns the body of a request, without escapes.
func (p *prober) sent(r model.Request) string {
	url, c, s := Listen(p.t, p.fine())
	if _, err := model.Generate(p.t.Context(), p.p.open(p.t, url, c), r); err != nil {
		p.t.Error(err)
		return ""
	}
	return string(s.Requests()[0])
}

func (p *prober) choices() bool {
	bodies := map[string]bool{}
	for _, c := range []model.Choice{model.Auto, model.None, model.Required, model.Use("find")} {
		r := Hello()
		r.Tools, r.Choice = []model.Tool{{Name: "find"}, {Name: "look"}}, c
		bodies[p.sent(r)] = true
	}
	return len(bodies) == 4
}

func (p *prober) schema() bool {
	r := Hello()
	r.Output = &model.Schema{JSON: json.RawMessage(`{"type":"object","properties":{"verdict":{"type":"string"}},"required":["verdict"],"additionalProperties":false}`)}
	return strings.Contains(p.sent(r), `"verdict"`) // a field of the body, and not a part of a text
}

// reasoning reports whether the reasoning of some answer is a part of the next request.
func (p *prober) reasoning() bool {
	for _, c := range p.cases {
		if c.Want != "ok" || c.Then != "" {
			continue
		}
		r, err := model.Generate(p.t.Context(), p.model(c), request(c))
		if err != nil || len(r.Message.Calls) > 0 {
			continue
		}
		for _, part := range r.Message.Content {
			next := Hello()
			next.Messages = append(next.Messages, r.Message, message.User("and?"))
			body := p.sent(next)
			for _, v := range part.Extra {
				if len(v) > 4 && strings.Contains(body, string(v)) {
					return true
				}
			}
		}
	}
	return false
}

const (
	pictureURL = "https://example.com/a.png"
	picture    = "the bytes of a picture"
)

var pictureText = base64.StdEncoding.EncodeToString([]byte(picture))

func (p *prober) images() bool {
	r := model.Request{Messages: []message.Message{message.UserParts(message.ImageURL(pictureURL), message.ImageBytes("image/png", []byte(picture)))}}
	body := p.sent(r)
	return strings.Contains(body, pictureURL) && strings.Contains(body, pictureText)
}

func (p *prober) imageOfTool() bool {
	r := Hello()
	r.Tools = []model.Tool{{Name: "draw"}}
	r.Messages = append(r.Messages, message.Assistant("", message.Call{ID: "1", Name: "draw", Arguments: []byte(`{}`)}),
		message.Tool(message.Result{CallID: "1", Content: []message.Part{message.ImageBytes("image/png", []byte(picture))}}))
	return strings.Contains(p.sent(r), pictureText)
}

func (p *prober) options() bool {
	r := Hello()
	r.Options = map[string]json.RawMessage{"an_option": json.RawMessage(`7`)}
	return strings.Contains(strings.ReplaceAll(p.sent(r), " ", ""), `"an_option":7`)
}
