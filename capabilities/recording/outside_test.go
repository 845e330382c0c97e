package recording_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/capabilities/recording"
	"github.com/weftrun/weft/state/message"
)

// final is an error with a code that is not worth another attempt.
type final struct{}

func (final) Error() string   { return "it does not work" }
func (final) Code() string    { return "exec:3" }
func (final) Retryable() bool { return false }

// Each kind of call returns in a replay what it returned before, also a failure.
func TestOutside_ReplaysWhatWasReturned(t *testing.T) {
	request := recording.HTTPRequest{
		Method: "post", URL: "https://ann:pass@example.org/a%2Fb?x=1&x=2", Query: map[string][]string{"x": {"3"}, "q": {"a b"}},
		Headers: map[string]string{"X-Shop": "tea"}, User: "ann", JSON: map[string]any{"n": json.Number("1.50")},
	}
	response := recording.HTTPResponse{Status: 404, Headers: map[string]string{"content-type": "text/plain"}, Text: "not\nhere\n"}
	command := recording.ExecRequest{Command: []string{"score.py", "-v"}, Input: []any{"a", json.Number("1e400")}}
	output := recording.ExecOutput{JSON: map[string]any{"score": json.Number("0.50")}, Stderr: "line\n"}
	embeddings := model.Embeddings{Vectors: [][]float32{{0.5, -1e-30}, {3, 0}}, Model: "m-1", Usage: message.Usage{Input: 7}, Counted: true}
	file := twice(t, recording.Options{}, func(ctx context.Context, replay bool) {
		called := func() {
			if replay {
				t.Error("a replay made the call")
			}
		}
		for range 2 {
			got, err := recording.HTTP(ctx, request, func(context.Context) (recording.HTTPResponse, error) { called(); return response, nil })
			if err != nil || !reflect.DeepEqual(got, response) {
				t.Errorf("got the response %+v, %v, want %+v", got, err, response)
			}
		}
		out, err := recording.Exec(ctx, command, func(context.Context) (recording.ExecOutput, error) { called(); return output, nil })
		if err != nil || !reflect.DeepEqual(out, output) {
			t.Errorf("got the output %+v, %v, want %+v", out, err, output)
		}
		out, err = recording.Exec(ctx, recording.ExecRequest{Command: []string{"fails"}}, func(context.Context) (recording.ExecOutput, error) { called(); return out, final{} })
		var code interface{ Code() string }
		var again interface{ Retryable() bool }
		if !errors.As(err, &code) || code.Code() != "exec:3" || !errors.As(err, &again) || again.Retryable() || err.Error() != "it does not work" {
			t.Errorf("got %v, %v", out, err)
		}
		e := recording.Embedder("small", model.EmbedFunc(func(context.Context, model.EmbedRequest) (model.Embeddings, error) {
			called()
			return embeddings, nil
		}))
		made, err := e.Embed(ctx, model.EmbedRequest{Texts: []string{"tea", "dog"}, Purpose: model.ForDocument})
		if err != nil || !reflect.DeepEqual(made, embeddings) {
			t.Errorf("got the vectors %+v, %v, want %+v", made, err, embeddings)
		}
	})
	for _, want := range []string{
		"http: \"POST https://example.org/a%2Fb\"\n    request:\n      query:\n        q: [a b]\n        x: [\"1\", \"2\", \"3\"]\n      headers: {x-shop: tea}\n      user: ann\n",
		"    response:\n      status: 404\n      headers: {content-type: text/plain}\n      text: |\n        not\n        here\n",
		"exec: score.py\n", "output:\n      json: {score: 0.50}\n", `error: {text: it does not work, code: "exec:3", final: true}`,
		"vectors:\n      data: [\"AAAAP2BCoo0=\", \"AABAQAAAAAA=\"]\n      model: m-1\n      usage: {input_tokens: 7, output_tokens: 0}",
	} {
		if !strings.Contains(file, want) {
			t.Errorf("the file lacks\n%s\nIt is\n%s", want, file)
		}
	}
	if strings.Contains(file, "pass") {
		t.Errorf("the file has the password of the URL:\n%s", file)
	}
}

// What a call returns has no secrets, also while it is recorded: a test sees the same both times.
func TestOutside_ReturnsNoSecrets(t *testing.T) {
	const secret = "s3cr3t-value"
	o := recording.Options{Secrets: map[string]string{"shop": secret}}
	file := twice(t, o, func(ctx context.Context, _ bool) {
		r := recording.HTTPRequest{URL: "https://example.org/" + secret + "?key=" + secret, Headers: map[string]string{"a": "Bearer " + secret}, Body: secret}
		got, err := recording.HTTP(ctx, r, func(context.Context) (recording.HTTPResponse, error) {
			return recording.HTTPResponse{Status: 200, Headers: map[string]string{"echo": secret}, Text: `{"key": "` + secret + `"}`}, nil
		})
		if want := `{"key": "[secret shop]"}`; err != nil || got.Text != want || got.Headers["echo"] != "[secret shop]" {
			t.Errorf("got %+v, %v, want %s", got, err, want)
		}
		out, err := recording.Exec(ctx, recording.ExecRequest{Command: []string{"echo", secret}, Input: secret}, func(context.Context) (recording.ExecOutput, error) {
			return recording.ExecOutput{JSON: secret, Stderr: secret}, nil
		})
		if err != nil || out.JSON != "[secret shop]" || out.Stderr != "[secret shop]" {
			t.Errorf("got %+v, %v", out, err)
		}
		_, err = recording.Exec(ctx, recording.ExecRequest{Command: []string{"fails"}}, func(context.Context) (recording.ExecOutput, error) {
			return recording.ExecOutput{}, errors.New("wrong key " + secret)
		})
		if err == nil {
			t.Error("a failure is none")
		}
		e := recording.Embedder("small", model.EmbedFunc(func(context.Context, model.EmbedRequest) (model.Embeddings, error) {
			return model.Embeddings{Vectors: [][]float32{{1}}}, nil
		}))
		if _, err := e.Embed(ctx, model.EmbedRequest{Texts: []string{secret}}); err != nil {
			t.Error(err)
		}
	})
	if n := strings.Count(file, "[secret shop]"); strings.Contains(file, secret) || n != 12 {
		t.Errorf("the file has the name of the secret %d times, want 12:\n%s", n, file)
	}
}

func TestOutside_NamesTheFirstDifference(t *testing.T) {
	path := filepath.Join(t.TempDir(), "calls.yaml")
	price := func(ctx context.Context, url, query string) error {
		_, err := recording.HTTP(ctx, recording.HTTPRequest{URL: url, Query: map[string][]string{"sku": {query}}}, func(context.Context) (recording.HTTPResponse, error) {
			return recording.HTTPResponse{Status: 200}, nil
		})
		return err
	}
	r, err := recording.Open(path, recording.Options{Record: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(price(r.Context(t.Context()), "http://localhost/price", "tea"), r.Close(nil)); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ url, query, want string }{
		{"http://localhost/price", "milk", `: call 1, of the request GET http://localhost/price, differs from PATH:4: request.query.sku[0] is "milk", recorded "tea"`},
		{"http://localhost/prices", "tea", `: call 1, of the request GET http://localhost/prices, differs from PATH:4: the call is "request GET http://localhost/prices", recorded "request GET http://localhost/price"`},
	} {
		r, err := recording.Open(path, recording.Options{})
		if err != nil {
			t.Fatal(err)
		}
		err = price(r.Context(t.Context()), test.url, test.query)
		want := "recording" + strings.ReplaceAll(test.want, "PATH", path)
		if fmt.Sprint(err) != want {
			t.Errorf("got %v, want %s", err, want)
		}
		if err := r.Close(nil); fmt.Sprint(err) != want {
			t.Errorf("Close returns %v, want %s", err, want)
		}
	}
	r, err = recording.Open(path, recording.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err, want := r.Close(nil), "recording: call 1, of the request GET http://localhost/price, was not made; it is recorded at "+path+":4"; fmt.Sprint(err) != want {
		t.Errorf("Close returns %v, want %s", err, want)
	}
}

// A call that could not be made fails the run with its own error, and is not recorded.
func TestUnrecordable(t *testing.T) {
	want := errors.New("the key is missing")
	call := func(ctx context.Context) error {
		_, err := recording.Exec(ctx, recording.ExecRequest{Command: []string{"p"}}, func(context.Context) (recording.ExecOutput, error) {
			return recording.ExecOutput{}, recording.Unrecordable(want)
		})
		return err
	}
	if err := call(t.Context()); err != want {
		t.Errorf("without a recorder: got %v, want %v", err, want)
	}
	path := filepath.Join(t.TempDir(), "calls.yaml")
	r, err := recording.Open(path, recording.Options{Record: true, Failed: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := call(r.Context(t.Context())); err != want {
		t.Errorf("with a recorder: got %v, want %v", err, want)
	}
	if err := r.Close(want); fmt.Sprint(err) != "recording: the program p cannot be recorded: the key is missing" || !errors.Is(err, want) {
		t.Errorf("Close returns %v", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is there: %v", err)
	}
}

func TestOutside_RefusesLargeValues(t *testing.T) {
	large := strings.Repeat("x", recording.MaxValue)
	for what, call := range map[string]func(context.Context) error{
		"response of the request GET http://localhost/": func(ctx context.Context) error {
			got, err := recording.HTTP(ctx, recording.HTTPRequest{URL: "http://localhost/"}, func(context.Context) (recording.HTTPResponse, error) {
				return recording.HTTPResponse{Text: large}, nil
			})
			if got.Text != large {
				t.Error("a large response is lost")
			}
			return err
		},
		"request of the program p": func(ctx context.Context) error {
			_, err := recording.Exec(ctx, recording.ExecRequest{Command: []string{"p"}, Input: large}, func(context.Context) (recording.ExecOutput, error) {
				return recording.ExecOutput{}, nil
			})
			return err
		},
		"vectors of the embedder e": func(ctx context.Context) error {
			_, err := recording.Embedder("e", model.EmbedFunc(func(context.Context, model.EmbedRequest) (model.Embeddings, error) {
				return model.Embeddings{Vectors: [][]float32{make([]float32, recording.MaxValue/5)}}, nil
			})).Embed(ctx, model.EmbedRequest{Texts: []string{"a"}})
			return err
		},
	} {
		r, err := recording.Open(filepath.Join(t.TempDir(), "calls.yaml"), recording.Options{Record: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := call(r.Context(t.Context())); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		var limit *recording.LimitError
		if err := r.Close(nil); !errors.As(err, &limit) || limit.Max != recording.MaxValue || !strings.HasPrefix(err.Error(), "recording: the "+what+" has ") {
			t.Errorf("Close returns %v, want a LimitError of the %s", err, what)
		}
	}
}

// A run with more calls than a recording can have is not recorded, whatever their kinds.
func TestOutside_RefusesManyCalls(t *testing.T) {
	path := filepath.Join(t.TempDir(), "calls.yaml")
	for calls, fits := range map[int]bool{recording.MaxCalls: true, recording.MaxCalls + 1: false} {
		r, err := recording.Open(path, recording.Options{Record: true, Fresh: true})
		if err != nil {
			t.Fatal(err)
		}
		ctx := r.Context(t.Context())
		for i := range calls {
			if _, err := recording.Exec(ctx, recording.ExecRequest{Command: []string{"p"}, Input: i}, func(context.Context) (recording.ExecOutput, error) {
				return recording.ExecOutput{JSON: true}, nil
			}); err != nil {
				t.Fatal(err)
			}
		}
		var limit *recording.LimitError
		if err := r.Close(nil); fits && err != nil || !fits && (!errors.As(err, &limit) || limit.What != "calls" || limit.Size != calls) {
			t.Errorf("%d calls: Close returns %v", calls, err)
		}
	}
}
