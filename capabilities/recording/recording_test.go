package recording_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/capabilities/model/openai"
	"github.com/weftrun/weft/capabilities/recording"
	"github.com/weftrun/weft/capabilities/tool"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/recordedhttp"
	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/state/message"
)

// twice calls do with a recorder that writes a file, and then with one that replays it. It returns
// what the file has.
func twice(t *testing.T, o recording.Options, do func(ctx context.Context, replay bool)) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "calls.yaml")
	o.Record = true
	for _, replay := range []bool{false, true} {
		if replay {
			o.Record = false
		}
		r, err := recording.Open(path, o)
		if err != nil {
			t.Fatal(err)
		}
		do(r.Context(t.Context()), replay)
		if err := r.Close(nil); err != nil {
			t.Fatalf("replay %v: %v", replay, err)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// ask returns what a model answers and the pieces of its text.
func ask(ctx context.Context, m model.Model, r model.Request) (res model.Response, text string, err error) {
	f := model.Fold{Request: r}
	for c, err := range m.Stream(ctx, r) {
		if err == nil {
			err = f.Add(c)
		}
		text += c.Text
		if err != nil {
			return res, text, err
		}
	}
	res, err = f.Response()
	return res, text, err
}

// noModel fails a test that calls it.
func noModel(t *testing.T) model.Model {
	return model.Func(func(context.Context, model.Request) iter.Seq2[model.Chunk, error] {
		t.Error("a replay called the model")
		return func(func(model.Chunk, error) bool) {}
	})
}

// The answers and failures of a provider's server are replayed as they were: all the cases that
// the tests of the provider have.
func TestModel_ReplaysWhatAServerAnswers(t *testing.T) {
	cases, err := recordedhttp.Load("../model/openai/testdata/answers")
	if err != nil || len(cases) < 20 {
		t.Fatal(len(cases), err)
	}
	for _, c := range cases {
		if c.Then != "" {
			continue // the server hangs or floods: a timeout of the client
		}
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			s := recordedhttp.NewServer(c)
			url, closed, err := s.Listen()
			if err != nil {
				t.Fatal(err)
			}
			defer closed()
			m, err := openai.New(openai.Config{Model: "m-1", BaseURL: url, Key: "sk-0123456789"})
			if err != nil {
				t.Fatal(err)
			}
			request := model.Request{Messages: []message.Message{message.User("hello")}, Tools: []model.Tool{{Name: "find"}, {Name: "list"}}}
			var first model.Response
			var said string
			var failed error
			file := twice(t, recording.Options{}, func(ctx context.Context, replay bool) {
				if !replay {
					first, said, failed = ask(ctx, recording.Model("small", m), request)
					return
				}
				res, text, err := ask(ctx, recording.Model("small", noModel(t)), request)
				if asJSON(t, res) != asJSON(t, first) || text != strings.ToValidUTF8(said, "\uFFFD") {
					t.Errorf("replayed is %s, %q, want %s, %q", asJSON(t, res), text, asJSON(t, first), said)
				}
				if fmt.Sprint(err) != fmt.Sprint(failed) || model.KindOf(err) != model.KindOf(failed) || model.Retriable(err) != model.Retriable(failed) {
					t.Errorf("replayed is the error %v, want %v", err, failed)
				}
			})
			if strings.Contains(file, "sk-0123456789") || strings.Contains(file, "Bearer") {
				t.Errorf("the file has the key:\n%s", file)
			}
		})
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

type search struct {
	Query string `json:"query"`
}

// finder is a set with the tool find.
func finder(t *testing.T, find func(context.Context, search) (string, error)) *tool.Set {
	t.Helper()
	set, err := tool.NewSet(tool.Func(tool.Info{Name: "find"}, find))
	if err != nil {
		t.Fatal(err)
	}
	return recording.Tools(set)
}

func find(query string) message.Call {
	args, _ := json.Marshal(search{query}) // a text has JSON
	return message.Call{ID: "c1", Name: "find", Arguments: args}
}

// Secrets are in a prompt, an argument, a result and an error.
func TestFile_HasNoSecrets(t *testing.T) {
	const secret = "s3cr3t/with \"quotes\" & more"
	fails := &model.Error{Kind: model.Overloaded, Message: "busy with " + secret}
	real := model.ScriptFunc(func(_ context.Context, r model.Request) model.Answer {
		if strings.Contains(r.Messages[0].Text(), "fail") {
			return model.Fail(fails)
		}
		return model.Answer{Text: "the key is " + secret[:5], Calls: []message.Call{find(secret)}}
	})
	file := twice(t, recording.Options{Secrets: map[string]string{"shop": secret}}, func(ctx context.Context, replay bool) {
		m := recording.Model("small", real)
		set := finder(t, func(_ context.Context, in search) (string, error) {
			if strings.HasPrefix(in.Query, "fail") {
				return "", errors.New("no " + secret)
			}
			return "found " + secret + ` and {"json":"` + strings.ReplaceAll(secret, `"`, `\"`) + `"}`, nil
		})
		if replay {
			m = recording.Model("small", noModel(t))
			set = finder(t, func(context.Context, search) (string, error) { t.Error("a replay called the tool"); return "", nil })
		}
		spec := []model.Tool{{Name: "find", Description: "with " + secret}}
		res, _, err := ask(ctx, m, model.Request{Messages: []message.Message{message.System("use " + secret)}, Tools: spec})
		if err != nil || len(res.Message.Calls) != 1 {
			t.Fatal(res, err)
		}
		if _, _, err := ask(ctx, m, model.Request{Messages: []message.Message{message.User("fail " + secret)}}); model.KindOf(err) != model.Overloaded {
			t.Errorf("the error is %v", err)
		}
		for _, query := range []string{secret, "fail " + secret} {
			r := set.Do(ctx, find(query), "id", tool.Limits{})
			if want := strings.HasPrefix(query, "fail"); r.IsError != want {
				t.Errorf("the result is %+v", r)
			}
		}
	})
	for _, leak := range []string{"s3cr3t", "quotes", "czNjcjN0"} {
		if strings.Contains(strings.ReplaceAll(file, "text: the key is s3cr3", ""), leak) {
			t.Errorf("the file has %q:\n%s", leak, file)
		}
	}
	if n := strings.Count(file, "[secret shop]"); n < 8 {
		t.Errorf("the file has %d secrets replaced, want at least 8:\n%s", n, file)
	}
}

func TestRedact_EncodedOnceMore(t *testing.T) {
	const secret = "pässword-1234"
	clean := recording.Redact(map[string]string{"k": secret})
	latin := "p\xe4ssword-1234"
	twice := func(s string) string {
		return base64.StdEncoding.EncodeToString([]byte(base64.StdEncoding.EncodeToString([]byte(s))))
	}
	for name, text := range map[string]string{
		"Latin-1":               "it is " + latin + ".",
		"Latin-1 in JSON":       "it is p\uFFFDssword-1234.",
		"Latin-1 in base 64":    base64.StdEncoding.EncodeToString([]byte("ann:" + latin)),
		"base 64 twice":         twice(secret),
		"base 64 twice, inside": twice("user:" + secret + ":more"),
		"Latin-1 twice":         twice("u:" + latin),
	} {
		got := clean(text)
		if !strings.Contains(got, "[secret k]") || strings.Contains(got, "ssword") {
			t.Errorf("%s: got %q", name, got)
		}
		for range 2 {
			plain, _ := base64.StdEncoding.DecodeString(text)
			if text = string(plain); text != "" && strings.Contains(got, text) {
				t.Errorf("%s: got %q", name, got)
			}
		}
	}
	if got := clean("the sword is in the password box, cGFzcw=="); strings.Contains(got, "[secret") {
		t.Errorf("a text without the secret: got %q", got)
	}
}

// Pieces of a secret that arrive in several chunks are one text in the file.
func TestFile_HasNoSecretsThatArriveInPieces(t *testing.T) {
	pieces := model.Func(func(context.Context, model.Request) iter.Seq2[model.Chunk, error] {
		return func(yield func(model.Chunk, error) bool) {
			for _, c := range []model.Chunk{
				{Text: "a pass"}, {Reasoning: "hm, pass"}, {Text: "word1"}, {Reasoning: "word1"},
				{Call: &model.CallDelta{ID: "1", Name: "find", Arguments: `{"query":"pa`}}, {Call: &model.CallDelta{Arguments: `ssword1"}`}}, {Stop: model.StopCalls},
			} {
				if !yield(c, nil) {
					return
				}
			}
		}
	})
	file := twice(t, recording.Options{Secrets: map[string]string{"k": "password1"}}, func(ctx context.Context, _ bool) {
		if _, _, err := ask(ctx, recording.Model("m", pieces), model.Request{Tools: []model.Tool{{Name: "find"}}}); err != nil {
			t.Fatal(err)
		}
	})
	if strings.Contains(file, "pass") || strings.Count(file, "[secret k]") != 3 {
		t.Errorf("the file is\n%s", file)
	}
}

// The texts of a request are in the file as they are, whatever their characters.
func TestFile_KeepsEveryText(t *testing.T) {
	texts := []string{"", " ", "\n", "a\n", "a\n\n", "\na\nb", "  a\n b", "a\r\nb", "a\tb\n\tc", "a: b # c", "- a\n- b\n", "yes", "null", "1e3", "~", "\u2028", "\x00\x1b\x7f",
		"\U0001F600\n\u202e", "'\"\\", "it's", "%YAML 1.2\n---\n...\n", "&a *a !t", "a\n   \nb  \n", "#\nb", strings.Repeat("x", 5000), "{{", "a\n\u0085b", "a, b", "\ufeffa\nb", "é\nü"}
	twice(t, recording.Options{}, func(ctx context.Context, replay bool) {
		m := recording.Model("m", model.ScriptFunc(func(_ context.Context, r model.Request) model.Answer {
			return model.Say("re:" + r.Messages[0].Text())
		}))
		if replay {
			m = recording.Model("m", noModel(t))
		}
		for _, text := range texts {
			for _, text := range []string{text, text + text, "x\n" + text + "\ny"} {
				res, _, err := ask(ctx, m, model.Request{Messages: []message.Message{message.User(text)}, Options: map[string]json.RawMessage{text: json.RawMessage(`[1.50, -0, 1e400, true, null, {"a":[[]]}]`)}})
				if err != nil || res.Message.Text() != "re:"+text {
					t.Errorf("%q: got %q, %v", text, res.Message.Text(), err)
				}
			}
		}
	})
}

func TestOpen_RejectsDamagedFiles(t *testing.T) {
	const head = "version: 1\ncalls:\n  - node: a\n"
	for text, want := range map[string]string{
		"":                                       "it is empty",
		"calls: []":                              ":1: it has no version",
		"version: 2\ncalls: []":                  ":1: the version 2 is not known",
		"version: 1\n":                           ":1: calls must be a list",
		"version: 1\nmore: 1\n":                  `:2: "more" is not known`,
		"version: 1\nversion: 1":                 `:2: "version" is there twice`,
		"version: 1\ncalls:\n  - a: [":           ":3: ",
		"version: 1\ncalls:\n\t- a":              ":3: ",
		head:                                     ":3: a call has one of model, tool, tools, http, exec, embedder, capability, function",
		head + "    model: m\n":                  ":3: the request is missing",
		head + "    model: m\n    request: {}\n": ":3: the answer is missing",
		head + "    model: m\n    request: {}\n    result: x\n":                     ":3: the answer is missing",
		head + "    model: m\n    request: {}\n    answer: x\n":                     ":6: answer must be a mapping",
		head + "    model: m\n    request: {}\n    answer:\n      text: 3\n":        ":7: ",
		head + "    model: m\n    request: {}\n    answer:\n      word: 3\n":        `:7: "word" is not known in an answer`,
		head + "    model: m\n    request: {}\n    answer:\n      calls: [3]\n":     ":7: a call must be a mapping",
		head + "    model: m\n    request: {}\n    error: busy\n":                   ":6: error must be a mapping",
		head + "    tool: m\n    tool: n\n":                                         `:5: "tool" is there twice`,
		head + "    tool: m\n    model: n\n":                                        ":5: a call has one of",
		head + "    tool: m\n    index: -1\n":                                       ":5: index must be",
		head + "    tool: m\n    request: {}\n    result: [{text: a}]\n":            ":6: ",
		head + "    tool: m\n    request: &a {}\n    result: *a\n":                  ":6: an alias is not allowed",
		head + "    tool: m\n    request: 0x1F\n":                                   ":5: 0x1F is not a number",
		head + "    tool: m\n    request: 2020-01-01\n":                             ":5: the type",
		head + "    tools: m\n    list: [{name: a, timeout: soon}]\n":               ":5: ",
		head + "    http: m\n    request: {}\n    response: {status: high}\n":       ":6: ",
		head + "    http: m\n    request: {}\n    output: {json: 1}\n":              ":3: the response is missing",
		head + "    exec: m\n    request: {}\n    output: {json: 1, more: 1}\n":     `:6: json: unknown field "more"`,
		head + "    embedder: m\n    request: {}\n    vectors: {data: [AAA=]}\n":    ":6: vector 0 must be the base64",
		"version: 1\ncalls: " + strings.Repeat("[", 300) + strings.Repeat("]", 300): "nested more than",
	} {
		path := filepath.Join(t.TempDir(), "calls.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := recording.Open(path, recording.Options{})
		var bad *recording.FileError
		if !errors.As(err, &bad) || bad.Path != path || !strings.Contains(err.Error(), path+want) && !strings.Contains(err.Error(), ": "+want) && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
		if strings.HasPrefix(want, ":") && !strings.Contains(fmt.Sprint(err), path+want) {
			t.Errorf("%q: got %v, want the place %s", text, err, want)
		}
	}
	if _, err := recording.Open(filepath.Join(t.TempDir(), "none.yaml"), recording.Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a file: %v", err)
	}
}

// A value that is too large is not recorded, and the file stays as it is.
func TestClose_RefusesLargeValues(t *testing.T) {
	path := filepath.Join(t.TempDir(), "calls.yaml")
	for _, size := range []int{10, recording.MaxValue} {
		r, err := recording.Open(path, recording.Options{Record: true})
		if err != nil {
			t.Fatal(err)
		}
		set := finder(t, func(context.Context, search) (string, error) { return strings.Repeat("x", size), nil })
		if res := set.Do(r.Context(t.Context()), find(fmt.Sprint(size)), "id", tool.Limits{MaxResult: 2 << 20}); res.IsError {
			t.Fatal(res)
		}
		before, _ := os.ReadFile(path)
		err = r.Close(nil)
		after, _ := os.ReadFile(path)
		var large *recording.LimitError
		switch {
		case size == 10 && err != nil:
			t.Fatal(err)
		case size > 10 && (!errors.As(err, &large) || large.What != "result" || large.Size != size+2 || !bytes.Equal(before, after)):
			t.Errorf("got %v, want a LimitError of the result; the file has %d bytes and had %d", err, len(after), len(before))
		}
	}
}

// Many recorders of one file, and readers: there is a whole file at any time.
func TestClose_WritesWholeFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "calls.yaml")
	record := func(n int) error {
		r, err := recording.Open(path, recording.Options{Record: true, Fresh: true})
		if err != nil {
			return err
		}
		m := recording.Model("m", model.ScriptFunc(func(_ context.Context, r model.Request) model.Answer { return model.Say("re") }))
		for i := range n {
			if _, _, err := ask(r.Context(t.Context()), m, model.Request{Messages: []message.Message{message.User(fmt.Sprint(i))}}); err != nil {
				return err
			}
		}
		return r.Close(nil)
	}
	if err := record(1); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for n := range 8 {
		wg.Go(func() {
			for i := range 10 {
				if err := record(1 + n*i); err != nil {
					t.Error(err)
				}
				if _, err := recording.Open(path, recording.Options{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("the folder has %v, %v, want one file", left, err)
	}
}

type fan struct {
	Said state.List[string] `json:"said"`
}

// Parallel tasks that ask the same get the answers that each of them got.
func TestRecorder_SeparatesParallelTasks(t *testing.T) {
	var mu sync.Mutex
	n := 0
	real := model.ScriptFunc(func(_ context.Context, r model.Request) model.Answer {
		mu.Lock()
		defer mu.Unlock()
		n++
		return model.Say(fmt.Sprint(n))
	})
	var want []string
	twice(t, recording.Options{}, func(ctx context.Context, replay bool) {
		m := recording.Model("m", real)
		if replay {
			m = recording.Model("m", noModel(t))
		}
		b := graph.New[fan]("fan")
		b.Node("start", graph.Router(func(context.Context, *fan) (cmd graph.Command, err error) {
			for i := range 20 {
				cmd = cmd.Send("say", i)
			}
			return cmd, nil
		}, "say"))
		b.Node("say", graph.Worker(func(ctx context.Context, s *fan, i int) error {
			for range 3 {
				res, _, err := ask(ctx, m, model.Request{Messages: []message.Message{message.User("the same")}})
				if err != nil {
					return err
				}
				s.Said.Append(fmt.Sprint(i, ":", res.Message.Text()))
			}
			return nil
		}))
		b.Edge(graph.Start, "start")
		b.Edge("say", graph.End)
		g, err := b.Compile(graph.Config{})
		if err != nil {
			t.Fatal(err)
		}
		end, err := g.Invoke(ctx, fan{}, graph.RunOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if !replay {
			want = end.State.Said.Slice()
		} else if got := end.State.Said.Slice(); !reflect.DeepEqual(got, want) {
			t.Errorf("replayed is %v, want %v", got, want)
		}
	})
}

// A set keeps its own function: it runs while a call is recorded, and not when it is replayed.
func TestTools_KeepsTheFunctionOfTheSet(t *testing.T) {
	asked := 0
	file := twice(t, recording.Options{}, func(ctx context.Context, _ bool) {
		set, err := tool.NewSet(tool.Func(tool.Info{Name: "find"}, func(_ context.Context, in search) (string, error) { return "found " + in.Query, nil }))
		if err != nil {
			t.Fatal(err)
		}
		set = recording.Tools(set.Around(func(ctx context.Context, _ tool.Info, in tool.Input, call func(context.Context) (tool.Output, error)) (tool.Output, error) {
			asked++
			if strings.Contains(string(in.Arguments), "private") {
				return nil, errors.New("the policy refuses it")
			}
			return call(ctx)
		}))
		for query, want := range map[string]string{"tea": "found tea", "private": "the policy refuses it"} {
			if r := set.Do(ctx, find(query), "id", tool.Limits{}); r.Text() != want {
				t.Errorf("the result of %s is %q, want %q", query, r.Text(), want)
			}
		}
	})
	if asked != 2 || !strings.Contains(file, "the policy refuses it") {
		t.Errorf("the policy was asked %d times, want 2; the file is\n%s", asked, file)
	}
}

// shelf is a source with the tool shelf_find.
type shelf struct{ description, found string }

func (shelf) Name() string { return "shelf" }

func (s shelf) Tools(context.Context) ([]tool.Tool, error) {
	return []tool.Tool{tool.Func(tool.Info{Name: "shelf_find", Description: s.description}, func(context.Context, struct{}) (string, error) {
		return s.found, nil
	})}, nil
}

// What was recorded before a value became a secret is redacted when the file is written again.
func TestOpen_RedactsOlderRecordings(t *testing.T) {
	const secret = "s3cr3t-value"
	path := filepath.Join(t.TempDir(), "calls.yaml")
	record := func(secrets map[string]string) (text string, s recording.Stats) {
		t.Helper()
		r, err := recording.Open(path, recording.Options{Record: true, Secrets: secrets})
		if err != nil {
			t.Fatal(err)
		}
		ctx := r.Context(t.Context())
		m := recording.Model("m", model.ScriptFunc(func(_ context.Context, r model.Request) model.Answer {
			if r.Messages[0].Text() == "fail" {
				return model.Fail(&model.Error{Kind: model.Refused, Message: "no " + secret})
			}
			return model.Answer{Text: "the key is " + secret, Calls: []message.Call{find(secret)}}
		}))
		for _, text := range []string{"with " + secret, "fail"} {
			spec := []model.Tool{{Name: "find"}}
			if _, _, err := ask(ctx, m, model.Request{Messages: []message.Message{message.User(text)}, Tools: spec}); (err != nil) != (text == "fail") {
				t.Fatal(err)
			}
		}
		set, err := tool.NewSet()
		if err != nil {
			t.Fatal(err)
		}
		set = recording.Tools(set.WithSources(recording.Source(shelf{"for " + secret, "found " + secret})))
		if r := set.Do(ctx, message.Call{ID: "c1", Name: "shelf_find"}, "id", tool.Limits{}); r.IsError {
			t.Fatal(r)
		}
		if err := r.Close(nil); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(data), r.Stats()
	}
	before, s := record(nil)
	if n := strings.Count(before, secret); n != 7 || s.Made != 4 {
		t.Fatalf("%+v, and the file has the value %d times, want 7:\n%s", s, n, before)
	}
	// The name of a secret may have the value of another.
	secrets := map[string]string{"shop": secret, "other": "shop"}
	after, s := record(secrets)
	if n := strings.Count(after, "[secret shop]"); strings.Contains(after, secret) || n < 7 || s.Replayed != 4 || s.Made != 0 {
		t.Errorf("%+v, and the file is\n%s", s, after)
	}
	if again, s := record(secrets); again != after || s.Made != 0 {
		t.Errorf("recorded again it is, %+v,\n%s\nwant\n%s", s, again, after)
	}
}

// An empty answer is replayed as one; what is not valid UTF-8 is replaced.
func TestFile_KeepsUnusualAnswers(t *testing.T) {
	answers := []model.Chunk{{}, {Text: "a\xff"}, {Call: &model.CallDelta{ID: "a\xff", Name: "a\xff", Arguments: "a\xff"}}}
	twice(t, recording.Options{}, func(ctx context.Context, replay bool) {
		for i, c := range answers {
			var m model.Model = model.Func(func(context.Context, model.Request) iter.Seq2[model.Chunk, error] {
				return func(yield func(model.Chunk, error) bool) {
					if i > 0 {
						yield(c, nil)
					}
				}
			})
			if replay {
				m = noModel(t)
			}
			var got []model.Chunk
			for c, err := range recording.Model("m", m).Stream(ctx, model.Request{Messages: []message.Message{message.User(fmt.Sprint(i))}}) {
				if err != nil {
					t.Error(err)
				}
				got = append(got, c)
			}
			if want := min(i, 1); len(got) != want {
				t.Errorf("answer %d is %s, want %d chunks", i, asJSON(t, got), want)
			}
		}
	})
}

// A run that fails leaves the file as it is, unless the test expects it to fail.
func TestClose_OfAFailedRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "calls.yaml")
	failed := errors.New("the run failed")
	record := func(o recording.Options, runErr error, prompts ...string) error {
		t.Helper()
		o.Record = true
		r, err := recording.Open(path, o)
		if err != nil {
			t.Fatal(err)
		}
		m := recording.Model("m", model.ScriptFunc(func(context.Context, model.Request) model.Answer { return model.Say("re") }))
		for _, p := range prompts {
			if _, _, err := ask(r.Context(t.Context()), m, model.Request{Messages: []message.Message{message.User(p)}}); err != nil {
				t.Fatal(err)
			}
		}
		return r.Close(runErr)
	}
	has := func(rule string, want ...string) {
		t.Helper()
		text, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) {
			text = nil
		} else if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(text), "content:"); n != len(want) {
			t.Errorf("%s: the file has %d calls, want %v:\n%s", rule, n, want, text)
		}
		for _, p := range want {
			if !strings.Contains(string(text), p) {
				t.Errorf("%s: the file lacks %s:\n%s", rule, p, text)
			}
		}
	}
	refused := func(rule string, err error) {
		t.Helper()
		if !errors.Is(err, failed) || !strings.Contains(fmt.Sprint(err), path) {
			t.Errorf("%s: Close returned %v, want the error of the run and the file", rule, err)
		}
	}
	refused("without a file", record(recording.Options{}, failed, "one"))
	has("without a file")
	if err := record(recording.Options{}, nil, "one", "two"); err != nil {
		t.Fatal(err)
	}
	refused("before the first call", record(recording.Options{}, failed))
	has("before the first call", "one", "two")
	refused("fresh, midway", record(recording.Options{Fresh: true}, failed, "one"))
	has("fresh, midway", "one", "two")
	if err := record(recording.Options{Failed: true}, failed, "one"); err != nil {
		t.Error(err)
	}
	has("an expected failure", "one")
}

// A call that its node's timeout has ended waits for that again, and not for ever.
func TestRecorder_ReplaysTheEndOfAContext(t *testing.T) {
	hangs := model.Func(func(ctx context.Context, _ model.Request) iter.Seq2[model.Chunk, error] {
		return func(yield func(model.Chunk, error) bool) {
			<-ctx.Done()
			yield(model.Chunk{}, context.Cause(ctx))
		}
	})
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "calls.yaml")
		run := func(o recording.Options, m model.Model, timeout time.Duration) error {
			r, err := recording.Open(path, o)
			if err != nil {
				t.Fatal(err)
			}
			b := graph.New[fan]("slow")
			b.Node("slow", graph.Func(func(ctx context.Context, _ *fan) error {
				_, _, err := ask(ctx, recording.Model("m", m), model.Request{Messages: []message.Message{message.User("hello")}})
				return err
			}).With(graph.Policy{Timeout: timeout}))
			b.Edge(graph.Start, "slow")
			b.Edge("slow", graph.End)
			g, err := b.Compile(graph.Config{})
			if err != nil {
				t.Fatal(err)
			}
			_, err = g.Invoke(r.Context(t.Context()), fan{}, graph.RunOptions{})
			if cerr := r.Close(err); cerr != nil {
				t.Error(cerr)
			}
			return err
		}
		if err := run(recording.Options{Record: true, Failed: true}, hangs, time.Second); !errors.Is(err, graph.ErrTimeout) {
			t.Errorf("recorded: %v, want a timeout", err)
		}
		if err := run(recording.Options{}, noModel(t), time.Second); !errors.Is(err, graph.ErrTimeout) {
			t.Errorf("replayed: %v, want a timeout", err)
		}
		began := time.Now()
		if err := run(recording.Options{}, noModel(t), 0); err == nil || !strings.Contains(err.Error(), "this one was not within 1m0s") || time.Since(began) != time.Minute {
			t.Errorf("without a timeout: %v after %v", err, time.Since(began))
		}
	})
}
