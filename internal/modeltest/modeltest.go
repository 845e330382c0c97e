package modeltest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/internal/recordedhttp"
	"github.com/weftrun/weft/state/message"
)

// MinAnswers is how many answers a provider must have.
const MinAnswers = 50

// Provider is a client of a model server.
type Provider struct {
	// Open returns a model of the server at url, which ends in /v1. It uses the client.
	Open func(url string, c *http.Client) (model.Model, error)
	// Key is the key that Open uses. No failure may have it.
	Key string
	// Never are the kinds of failures that the provider cannot report.
	Never []model.Kind
}

// Listen returns a server that plays cases on a local port, and a client for it.
func Listen(t testing.TB, cases ...recordedhttp.Case) (url string, c *http.Client, s *recordedhttp.Server) {
	t.Helper()
	s = recordedhttp.NewServer(cases...)
	url, closed, err := s.Listen()
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{DisableKeepAlives: true}
	t.Cleanup(func() { transport.CloseIdleConnections(); closed() })
	return url, &http.Client{Transport: transport}, s
}

// Pipe is Listen over pipes, so that synctest can control time.
func Pipe(cases ...recordedhttp.Case) (url string, c *http.Client, s *recordedhttp.Server) {
	s = recordedhttp.NewServer(cases...)
	dial := func(context.Context, string, string) (net.Conn, error) {
		here, there := net.Pipe()
		go s.Serve(there)
		return here, nil
	}
	return "http://server.test/v1", &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: dial}}, s
}

// Client opens models of one provider for its tests.
type Client[Config any, M model.Model] struct {
	// Open returns a model with a configuration, of the server at url.
	Open func(cfg Config, url string, c *http.Client) (M, error)
}

// Provider is Open with the zero configuration, for [Provider.Open].
func (c Client[Config, M]) Provider(url string, h *http.Client) (model.Model, error) {
	var zero Config
	return c.Open(zero, url, h)
}

// Listen returns a model with a server that plays cases on a local port.
func (c Client[Config, M]) Listen(t *testing.T, cfg Config, cases ...recordedhttp.Case) (M, *recordedhttp.Server) {
	t.Helper()
	url, h, s := Listen(t, cases...)
	return c.open(t, cfg, url, h), s
}

// Pipe is Listen over pipes, so that synctest can control time.
func (c Client[Config, M]) Pipe(t *testing.T, cfg Config, cases ...recordedhttp.Case) (M, *recordedhttp.Server) {
	t.Helper()
	url, h, s := Pipe(cases...)
	return c.open(t, cfg, url, h), s
}

func (c Client[Config, M]) open(t *testing.T, cfg Config, url string, h *http.Client) M {
	t.Helper()
	m, err := c.Open(cfg, url, h)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Hello is a request with one message.
func Hello() model.Request {
	return model.Request{Messages: []message.Message{message.User("hello")}}
}

// Prepared returns the answer in a file of testdata/answers.
func Prepared(t testing.TB, name string) recordedhttp.Case {
	t.Helper()
	for _, c := range load(t, "answers") {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("there is no answer %q", name)
	return recordedhttp.Case{}
}

func load(t testing.TB, folder string) []recordedhttp.Case {
	t.Helper()
	cases, err := recordedhttp.Load(filepath.Join("testdata", folder))
	if err != nil {
		t.Fatal(err)
	}
	return cases
}

// Answers judges the answers in testdata/answers: each is read, or is a failure of the kind that
// its file wants, and each kind of failure is there.
func (p Provider) Answers(t *testing.T) {
	cases := load(t, "answers")
	if len(cases) < MinAnswers {
		t.Errorf("there are %d answers, want %d", len(cases), MinAnswers)
	}
	missing := map[model.Kind]bool{
		model.RateLimited: true, model.Overloaded: true, model.Timeout: true, model.Unreachable: true, model.CutOff: true, model.BadAnswer: true,
		model.Refused: true, model.ContextTooLong: true, model.Truncated: true, model.Invalid: true, model.Auth: true, model.Quota: true,
	}
	for _, k := range p.Never {
		delete(missing, k)
	}
	for _, c := range cases {
		delete(missing, model.Kind(c.Want))
		p.play(t, c, func(t *testing.T, m model.Model) {
			r, err := model.Generate(t.Context(), m, request(c))
			p.judge(t, c, said(r), err)
		})
	}
	for k := range missing {
		t.Errorf("no answer is %q", k)
	}
}

// play calls judge with a model whose server plays the case, a silent one in fake time.
func (p Provider) play(t *testing.T, c recordedhttp.Case, judge func(*testing.T, model.Model)) {
	t.Run(c.Name, func(t *testing.T) {
		if c.Then == "hang" {
			synctest.Test(t, func(t *testing.T) {
				url, client, _ := Pipe(c)
				judge(t, p.open(t, url, client))
			})
			return
		}
		url, client, _ := Listen(t, c)
		judge(t, p.open(t, url, client))
	})
}

func (p Provider) open(t testing.TB, url string, c *http.Client) model.Model {
	t.Helper()
	m, err := p.Open(url, c)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// request asks for the answer of a case. A call counts only where tools were offered.
func request(c recordedhttp.Case) model.Request {
	r := Hello()
	if c.Want != "ok" || strings.Contains(c.Text, "call ") {
		r.Tools = []model.Tool{{Name: "find"}}
	}
	return r
}

// said formats an answer as the files do.
func said(r model.Response) string {
	var parts []string
	if text := r.Message.Text(); text != "" {
		parts = append(parts, "text "+text)
	}
	for _, c := range r.Message.Calls {
		parts = append(parts, fmt.Sprintf("call %s %s %s", c.ID, c.Name, c.Arguments))
	}
	if r.Counted {
		parts = append(parts, fmt.Sprintf("usage %d %d %d", r.Usage.Input, r.Usage.Output, r.Usage.Cached))
	}
	return strings.Join(append(parts, "stop "+string(r.Stop)), "; ")
}

// judge compares a result with what the file of a case wants.
func (p Provider) judge(t testing.TB, c recordedhttp.Case, got string, err error) {
	t.Helper()
	if c.Want == "ok" {
		if err != nil || got != c.Text {
			t.Errorf("got %q, %v\nwant %q", got, err, c.Text)
		}
		return
	}
	var e *model.Error
	if !errors.As(err, &e) || string(e.Kind) != c.Want || !strings.Contains(err.Error(), c.Text) {
		t.Fatalf("got %v\nwant a failure of the kind %q with %q", err, c.Want, c.Text)
	}
	if e.Model == "" {
		t.Errorf("the failure does not name the model: %v", err)
	}
	if strings.Contains(fmt.Sprintf("%v %+v %#v", err, err, e), p.Key) {
		t.Errorf("the failure holds the key: %#v", e)
	}
	if len(err.Error()) > 700 {
		t.Errorf("the failure has %d bytes", len(err.Error()))
	}
}

// Embeddings judges the answers in testdata/embeddings to a request for the vectors of two texts.
func (p Provider) Embeddings(t *testing.T) {
	for _, c := range load(t, "embeddings") {
		p.play(t, c, func(t *testing.T, m model.Model) {
			e, err := m.(model.Embedder).Embed(t.Context(), model.EmbedRequest{Texts: []string{"tea", "dog"}})
			got := fmt.Sprint(e.Vectors)
			if e.Counted {
				got += fmt.Sprint(" usage ", e.Usage.Input)
			}
			p.judge(t, c, got, err)
		})
	}
}
