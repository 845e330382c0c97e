package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/weftrun/weft/capabilities/tool"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state/message"
)

type city struct {
	Name string `json:"name" jsonschema:"in English"`
	Days int    `json:"days,omitempty"`
}

func set(t *testing.T, tools ...tool.Tool) *tool.Set {
	t.Helper()
	s, err := tool.NewSet(tools...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// named returns a tool without arguments.
func named(name string, call func(context.Context) (string, error)) tool.Tool {
	return tool.Func(tool.Info{Name: name}, func(ctx context.Context, _ struct{}) (string, error) { return call(ctx) })
}

func ask(name, args string) message.Call {
	return message.Call{ID: "id-" + name, Name: name, Arguments: json.RawMessage(args)}
}

func TestTool_GetsItsArgumentsAndID(t *testing.T) {
	weather := tool.Func(tool.Info{Name: "weather"}, func(ctx context.Context, c city) (map[string]any, error) {
		return map[string]any{"of": c.Name + " <" + tool.ID(ctx) + ">", "days": c.Days}, nil
	})
	got := set(t, weather).Do(t.Context(), ask("weather", `{"name":"Oslo","days":2}`), "exec-1", tool.Limits{})
	if got.IsError || got.CallID != "id-weather" || got.Text() != `{"days":2,"of":"Oslo <exec-1>"}` {
		t.Errorf("got %+v", got)
	}
}

func TestRequest_HasTheSchemaOfATool(t *testing.T) {
	weather := tool.Func(tool.Info{Name: "weather", Description: "of a city"}, func(context.Context, city) (string, error) { return "", nil })
	spec := set(t, weather).Specs(t.Context())[0]
	if spec.Name != "weather" || spec.Description != "of a city" || !strings.Contains(string(spec.Schema), "in English") {
		t.Errorf("got %+v", spec)
	}
}

func TestDo_EveryFailureIsAResult(t *testing.T) {
	s := set(t,
		tool.Func(tool.Info{Name: "weather"}, func(context.Context, city) (string, error) { return "sun", nil }),
		named("fails", func(context.Context) (string, error) { return "", errors.New("no connection") }),
		named("panics", func(context.Context) (string, error) { panic("oh") }),
		named("leaves", func(context.Context) (string, error) { runtime.Goexit(); return "", nil }),
		named("never", func(ctx context.Context) (string, error) { return "", nil }),
		tool.Func(tool.Info{Name: "odd"}, func(context.Context, struct{}) (any, error) { return func() {}, nil }),
	).Enable(func(_ context.Context, name string) (bool, error) {
		if name == "never" {
			return true, errors.New("the settings cannot be read")
		}
		return name != "weatherless", nil
	})
	for name, tt := range map[string]struct {
		call message.Call
		want string
	}{
		"an unknown tool":    {ask("wether", "{}"), `there is no tool "wether"; there are: weather, fails`},
		"half JSON":          {ask("weather", `{"name":`), "must be JSON"},
		"a field less":       {ask("weather", `{}`), "name"},
		"a field more":       {ask("weather", `{"name":"a","when":1}`), "when"},
		"another type":       {ask("weather", `{"name":7}`), "string"},
		"no object":          {ask("weather", `["Oslo"]`), "object"},
		"an error":           {ask("fails", ``), "no connection"},
		"a panic":            {ask("panics", `null`), "panicked: oh"},
		"the end of all":     {ask("leaves", `{}`), "ended its goroutine"},
		"an unknown setting": {ask("never", `{}`), "the settings cannot be read"},
		"no JSON to give":    {ask("odd", `{}`), "no JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			got := s.Do(t.Context(), tt.call, "x", tool.Limits{})
			if !got.IsError || !strings.Contains(got.Text(), tt.want) || got.CallID != tt.call.ID {
				t.Errorf("got %+v, want an error with %q", got, tt.want)
			}
		})
	}
}

func TestDo_ResultThatIsNotUTF8(t *testing.T) {
	s := set(t,
		named("text", func(context.Context) (string, error) { return "caf\xe9", nil }),
		tool.Func(tool.Info{Name: "object"}, func(context.Context, struct{}) (any, error) { return map[string]any{"caf\xe9": 1}, nil }),
		tool.Func(tool.Info{Name: "parts"}, func(context.Context, struct{}) (tool.Output, error) {
			return tool.Output{{Type: message.TypeData, Data: json.RawMessage("\"caf\xe9\"")}}, nil
		}),
		named("fails", func(context.Context) (string, error) { return "", errors.New("no caf\xe9") }),
	)
	for _, name := range []string{"text", "object", "parts", "fails"} {
		got := s.Do(t.Context(), ask(name, "{}"), "x", tool.Limits{})
		if !got.IsError || name != "fails" && !strings.Contains(got.Text(), "not UTF-8") || !utf8.ValidString(got.Text()) {
			t.Errorf("%s: got %+v, want an error in UTF-8", name, got)
		}
	}
}

// Requirement: a disabled tool is offered to the model
func TestTools_DisabledAreNeitherOfferedNorRun(t *testing.T) {
	s := set(t, named("a", func(context.Context) (string, error) { return "ran", nil }), named("b", func(context.Context) (string, error) { return "ran", nil })).
		Enable(func(_ context.Context, name string) (bool, error) { return name == "b", nil })
	if specs := s.Specs(t.Context()); len(specs) != 1 || specs[0].Name != "b" {
		t.Errorf("the model gets %v", specs)
	}
	if got := s.Do(t.Context(), ask("a", "{}"), "x", tool.Limits{}); !got.IsError || got.Text() == "ran" {
		t.Errorf("got %+v", got)
	}
}

func TestRun_CallsAreParallelAndOrdered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		running, most := 0, 0
		enter := make(chan int)
		go func() {
			for d := range enter {
				running += d
				most = max(most, running)
			}
		}()
		wait := tool.Func(tool.Info{Name: "wait"}, func(_ context.Context, a struct {
			N int `json:"n"`
		}) (string, error) {
			enter <- 1
			time.Sleep(time.Duration(10-a.N) * time.Second)
			enter <- -1
			return fmt.Sprint(a.N), nil
		})
		var calls []message.Call
		for n := range 8 {
			calls = append(calls, message.Call{ID: fmt.Sprint("c", n), Name: "wait", Arguments: json.RawMessage(fmt.Sprintf(`{"n":%d}`, n))})
		}
		for n, r := range set(t, wait).Run(t.Context(), calls, tool.Limits{Parallel: 3}) {
			if r.CallID != fmt.Sprint("c", n) || r.Text() != fmt.Sprint(n) {
				t.Errorf("result %d is %+v", n, r)
			}
		}
		close(enter)
		synctest.Wait()
		if most != 3 {
			t.Errorf("%d ran at once, want 3", most)
		}
	})
}

func TestTimeout_OfAToolEndsOnlyItsCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := tool.Func(tool.Info{Name: "slow", Timeout: time.Second}, func(ctx context.Context, _ struct{}) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		})
		fine := named("fine", func(context.Context) (string, error) { time.Sleep(30 * time.Second); return "ok", nil })
		got := set(t, slow, fine).Run(t.Context(), []message.Call{ask("slow", ""), ask("fine", "")}, tool.Limits{})
		if !got[0].IsError || !strings.Contains(got[0].Text(), "exceeded its timeout of 1s") || got[1].Text() != "ok" {
			t.Errorf("got %+v", got)
		}
	})
}

func TestTool_ThatDoesNotStopIsAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		slow := named("slow", func(context.Context) (string, error) { <-free; return "late", nil })
		begun := time.Now()
		got := set(t, slow).Do(t.Context(), ask("slow", ""), "x", tool.Limits{Timeout: 5 * time.Second, Grace: time.Second})
		if !got.IsError || !strings.Contains(got.Text(), "did not stop") || time.Since(begun) != 6*time.Second {
			t.Errorf("got %+v after %s", got, time.Since(begun))
		}
		close(free)
	})
}

func TestCalls_ThatWereNotRunAreReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		stop := named("stop", func(ctx context.Context) (string, error) { cancel(); <-ctx.Done(); return "", ctx.Err() })
		got := set(t, stop).Run(ctx, []message.Call{ask("stop", ""), ask("stop", ""), ask("stop", "")}, tool.Limits{Parallel: 1})
		for i, r := range got {
			if !r.IsError || i > 0 && !strings.Contains(r.Text(), "it was not run") {
				t.Errorf("result %d is %+v", i, r)
			}
		}
	})
}

func TestRun_CutsALargeResultWithANote(t *testing.T) {
	big := tool.Func(tool.Info{Name: "big", MaxResult: 10}, func(context.Context, struct{}) (tool.Output, error) {
		return tool.Output{message.Text("123456789é123"), message.ImageBytes("image/png", make([]byte, 100))}, nil
	})
	got := set(t, big).Do(t.Context(), ask("big", ""), "x", tool.Limits{})
	if got.IsError || !strings.Contains(got.Text(), "123456789\n(cut: 9 of 14 bytes") || !strings.Contains(got.Text(), "left out") {
		t.Errorf("got %q", got.Text())
	}
	nothing := named("nothing", func(context.Context) (string, error) { return "", nil })
	if err := (func() error {
		m := message.Tool(set(t, nothing).Do(t.Context(), ask("nothing", ""), "x", tool.Limits{}))
		log := message.LogOf(m)
		return log.Err()
	})(); err != nil {
		t.Error("the log does not take an empty result:", err)
	}
}

func TestCall_ThatNeedsAPersonWaits(t *testing.T) {
	ran := 0
	wipe := tool.Func(tool.Info{Name: "wipe", Mode: tool.Permit}, func(context.Context, city) (string, error) { ran++; return "wiped", nil })
	s := set(t, wipe)
	if got := s.Run(t.Context(), []message.Call{ask("wipe", `{"name":"a"}`)}, tool.Limits{}); !got[0].IsError || ran != 0 {
		t.Errorf("got %+v, ran %d times", got, ran)
	}
	need, ok := s.Needs(t.Context(), ask("wipe", `{"name":"a"}`))
	if !ok || need.Mode != tool.Permit || need.Prompt != `May the tool "wipe" run?` {
		t.Errorf("got %+v, %v", need, ok)
	}
	if _, ok := s.Needs(t.Context(), ask("wipe", `{}`)); ok {
		t.Error("a person is asked about a call that cannot run")
	}
}

func TestDecision_IsAppliedToItsCall(t *testing.T) {
	s := set(t, tool.Func(tool.Info{Name: "wipe", Mode: tool.Permit}, func(context.Context, city) (string, error) { return "", nil }))
	c := ask("wipe", `{"name":"a"}`)
	if got, _, run, err := s.Apply(t.Context(), c, graph.Decision{Type: graph.DecisionApprove}); !run || err != nil || string(got.Arguments) != `{"name":"a"}` {
		t.Errorf("approve: %+v, %v, %v", got, run, err)
	}
	if got, _, run, err := s.Apply(t.Context(), c, graph.Decision{Type: graph.DecisionEdit, Args: []byte(`{"name":"b"}`)}); !run || err != nil || string(got.Arguments) != `{"name":"b"}` {
		t.Errorf("edit: %+v, %v, %v", got, run, err)
	}
	if _, _, run, err := s.Apply(t.Context(), c, graph.Decision{Type: graph.DecisionEdit, Args: []byte(`{"nom":"b"}`)}); run || err == nil {
		t.Errorf("a bad edit: %v, %v", run, err)
	}
	_, no, run, err := s.Apply(t.Context(), c, graph.Decision{Type: graph.DecisionReject, Message: "too risky"})
	if run || err != nil || !no.IsError || !strings.Contains(no.Text(), "too risky") || no.CallID != c.ID {
		t.Errorf("reject: %+v, %v, %v", no, run, err)
	}
	var d graph.Decision
	if json.Unmarshal([]byte(`{"action":"perhaps"}`), &d) == nil {
		t.Error("an action that there is not is read")
	}
	if _, _, run, err := s.Apply(t.Context(), c, graph.Decision{}); run || err == nil {
		t.Error("no action is one")
	}
}

func TestAnswer_OfAPersonIsTheResult(t *testing.T) {
	s := set(t, tool.Ask[city, bool](tool.Info{Name: "confirm", Prompt: "Go there?"}))
	c := ask("confirm", `{"name":"a"}`)
	need, ok := s.Needs(t.Context(), c)
	if !ok || need.Mode != tool.Answer || string(need.Answer) != `{"type":"boolean"}` || need.Prompt != "Go there?" {
		t.Errorf("got %+v, %v", need, ok)
	}
	if got, err := s.Answered(c, json.RawMessage(`false`)); err != nil || got.Text() != "false" || got.IsError {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := s.Answered(c, json.RawMessage(`"perhaps"`)); err == nil {
		t.Error("an answer of another type is taken")
	}
}

func TestNewSet_ReportsEveryMistake(t *testing.T) {
	_, err := tool.NewSet(
		named("ok", func(context.Context) (string, error) { return "", nil }),
		named("ok", func(context.Context) (string, error) { return "", nil }),
		named("not ok", func(context.Context) (string, error) { return "", nil }),
		nil,
		tool.Func[struct{}, string](tool.Info{Name: "hollow"}, nil),
		tool.Func(tool.Info{Name: "list"}, func(context.Context, []string) (string, error) { return "", nil }),
		tool.Func(tool.Info{Name: "schema", Schema: json.RawMessage(`{"type":7}`)}, func(context.Context, struct{}) (string, error) { return "", nil }),
		tool.Func(tool.Info{Name: "mode", Mode: "maybe"}, func(context.Context, struct{}) (string, error) { return "", nil }),
	)
	if !errors.Is(err, tool.ErrTool) {
		t.Fatal(err)
	}
	for _, want := range []string{"used twice", "letters", "nil", "no function", "must be a struct", "schema of the arguments", `no mode "maybe"`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in\n%v", want, err)
		}
	}
}

// A newer function is around the older one, which is around the tool.
func TestAround_KeepsTheFunctionBefore(t *testing.T) {
	var order []string
	note := func(name string) func(context.Context, tool.Info, tool.Input, func(context.Context) (tool.Output, error)) (tool.Output, error) {
		return func(ctx context.Context, info tool.Info, in tool.Input, call func(context.Context) (tool.Output, error)) (tool.Output, error) {
			order = append(order, name+" "+info.Name+" "+in.ID)
			return call(ctx)
		}
	}
	tools := set(t, named("a", func(context.Context) (string, error) { order = append(order, "tool"); return "ok", nil }))
	older := tools.Around(note("older"))
	newer := older.Around(note("newer"))
	for _, c := range []struct {
		tools *tool.Set
		want  string
	}{
		{newer, "newer a 1, older a 1, tool"},
		{older, "older a 1, tool"},
		{tools, "tool"},
	} {
		order = nil
		if r := c.tools.Do(t.Context(), ask("a", "{}"), "1", tool.Limits{}); r.IsError {
			t.Error(r)
		}
		if got := strings.Join(order, ", "); got != c.want {
			t.Errorf("the order is %s, want %s", got, c.want)
		}
	}
}
