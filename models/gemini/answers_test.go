package gemini_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/internal/recordedhttp"
	"github.com/weftrun/weft/models/gemini"
	"github.com/weftrun/weft/state/message"
)

const key = "AIza-secret-123"

// newYear is the time of the tests' clock.
var newYear = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// connect returns a model with a server that plays cases on a local port.
func connect(t *testing.T, cfg gemini.Config, cases ...recordedhttp.Case) (*gemini.Model, *recordedhttp.Server) {
	t.Helper()
	s := recordedhttp.NewServer(cases...)
	url, closed, err := s.Listen()
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{DisableKeepAlives: true}
	t.Cleanup(func() { transport.CloseIdleConnections(); closed() })
	cfg.BaseURL, cfg.Client = strings.TrimSuffix(url, "/v1"), &http.Client{Transport: transport}
	return open(t, cfg), s
}

// connectInside is connect over pipes, so that synctest can control time.
func connectInside(t *testing.T, cfg gemini.Config, cases ...recordedhttp.Case) *gemini.Model {
	t.Helper()
	s := recordedhttp.NewServer(cases...)
	dial := func(context.Context, string, string) (net.Conn, error) {
		here, there := net.Pipe()
		go s.Serve(there)
		return here, nil
	}
	cfg.BaseURL = "http://server.test"
	cfg.Client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: dial}}
	return open(t, cfg)
}

func open(t *testing.T, cfg gemini.Config) *gemini.Model {
	t.Helper()
	if cfg.Model == "" {
		cfg.Model = "m"
	}
	cfg.Key, cfg.Now = key, func() time.Time { return newYear }
	m, err := gemini.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func hello() model.Request {
	return model.Request{Messages: []message.Message{message.User("hello")}}
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

func TestAnswers_AreReadOrATypedFailure(t *testing.T) {
	cases, err := recordedhttp.Load("testdata/answers")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			if c.Then == "hang" {
				synctest.Test(t, func(t *testing.T) { judge(t, connectInside(t, gemini.Config{}, c), c) })
				return
			}
			m, _ := connect(t, gemini.Config{}, c)
			judge(t, m, c)
		})
	}
}

func judge(t *testing.T, m model.Model, c recordedhttp.Case) {
	t.Helper()
	request := hello()
	request.Tools = []model.Tool{{Name: "find"}}
	r, err := model.Generate(t.Context(), m, request)
	if c.Want == "ok" {
		if err != nil || said(r) != c.Text {
			t.Errorf("got %q, %v\nwant %q", said(r), err, c.Text)
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
	if strings.Contains(fmt.Sprintf("%v %+v %#v", err, err, e), key) {
		t.Errorf("the failure holds the key: %#v", e)
	}
	if len(err.Error()) > 700 {
		t.Errorf("the failure has %d bytes", len(err.Error()))
	}
}

func TestAnswers_HaveEveryKindOfFailure(t *testing.T) {
	cases, err := recordedhttp.Load("testdata/answers")
	if err != nil {
		t.Fatal(err)
	}
	missing := map[model.Kind]bool{
		model.RateLimited: true, model.Overloaded: true, model.Timeout: true, model.CutOff: true, model.BadAnswer: true, model.Refused: true,
		model.ContextTooLong: true, model.Truncated: true, model.Invalid: true, model.Auth: true, model.Quota: true,
	}
	for _, c := range cases {
		delete(missing, model.Kind(c.Want))
	}
	for k := range missing {
		t.Errorf("no answer is %q", k)
	}
}
