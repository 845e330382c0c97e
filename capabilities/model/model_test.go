package model_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/state/message"
)

// chunks is a model that yields these and then err, if there is one.
func chunks(err error, all ...model.Chunk) model.Model {
	return model.Func(func(context.Context, model.Request) iter.Seq2[model.Chunk, error] {
		return func(yield func(model.Chunk, error) bool) {
			for _, c := range all {
				if !yield(c, nil) {
					return
				}
			}
			if err != nil {
				yield(model.Chunk{}, err)
			}
		}
	})
}

func delta(index int, id, name, args string) model.Chunk {
	return model.Chunk{Call: &model.CallDelta{Index: index, ID: id, Name: name, Arguments: args}}
}

func offered(names ...string) (tools []model.Tool) {
	for _, n := range names {
		tools = append(tools, model.Tool{Name: n})
	}
	return tools
}

func TestAnswer_IsJoinedFromItsPieces(t *testing.T) {
	m := chunks(nil,
		model.Chunk{Reasoning: "hm"}, model.Chunk{Text: "one "}, model.Chunk{Text: "two", Model: "m-1"},
		delta(0, "a", "find", `{"q":`), delta(1, "b", "list", ""), delta(0, "", "", `"x"}`),
		model.Chunk{Stop: model.StopCalls}, model.Chunk{Usage: &message.Usage{Input: 7, Output: 3}},
	)
	got, err := model.Generate(t.Context(), m, model.Request{Tools: offered("find", "list")})
	if err != nil {
		t.Fatal(err)
	}
	said := message.Assistant("one two", message.Call{ID: "a", Name: "find", Arguments: json.RawMessage(`{"q":"x"}`)},
		message.Call{ID: "b", Name: "list", Arguments: json.RawMessage(nil)})
	said.Usage = &message.Usage{Input: 7, Output: 3}
	want := model.Response{Message: said, Usage: *said.Usage, Counted: true, Stop: model.StopCalls, Model: "m-1", Reasoning: "hm"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestRequestID_NamesTheAnswerAndItsCalls(t *testing.T) {
	m := chunks(nil, delta(0, "x", "a", "{}"), delta(1, "x2", "b", "{}"), model.Chunk{Stop: model.StopCalls})
	got, err := model.Generate(t.Context(), m, model.Request{ID: "m7", Tools: offered("a", "b")})
	if err != nil {
		t.Fatal(err)
	}
	if got.Message.ID != "m7" || got.Message.Calls[0].ID != "m7-0" || got.Message.Calls[1].ID != "m7-1" {
		t.Errorf("got %+v", got.Message)
	}
}

func TestCalls_WithoutIDsGetSome(t *testing.T) {
	for name, given := range map[string][]model.Chunk{
		"none":             {delta(0, "", "a", "{}"), delta(1, "", "b", "{}")},
		"one twice":        {delta(0, "x", "a", "{}"), delta(1, "x", "b", "{}")},
		"one is missing":   {delta(0, "call-1", "a", "{}"), delta(1, "", "b", "{}")},
		"all at one place": {delta(0, "x", "a", "{}"), delta(0, "y", "b", "{}"), delta(0, "x", "c", "{}")},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := model.Generate(t.Context(), chunks(nil, append(given, model.Chunk{Stop: model.StopCalls})...), model.Request{Tools: offered("a", "b", "c")})
			if err != nil {
				t.Fatal(err)
			}
			got.Message.ID = "m"
			if len(got.Message.Calls) != len(given) {
				t.Errorf("%d calls of %d", len(got.Message.Calls), len(given))
			}
			log := message.LogOf(got.Message)
			if err := log.Err(); err != nil {
				t.Error("the log does not take the answer:", err)
			}
			var invalid *message.InvalidError
			if err := message.Validate([]message.Message{got.Message}); errors.As(err, &invalid) {
				for _, p := range invalid.Problems {
					if p.Rule != message.RuleUnanswered {
						t.Error(p)
					}
				}
			}
		})
	}
}

func TestGenerate_EmptyAnswerIsAnError(t *testing.T) {
	cut := &model.Error{Kind: model.Unreachable}
	for name, tt := range map[string]struct {
		m    model.Model
		want model.Kind
	}{
		"nothing at all":                        {chunks(nil), model.CutOff},
		"no end":                                {chunks(nil, model.Chunk{Text: "half"}), model.CutOff},
		"empty":                                 {chunks(nil, model.Chunk{Stop: model.StopEnd}), model.BadAnswer},
		"blank":                                 {chunks(nil, model.Chunk{Text: " \n", Stop: model.StopEnd}), model.BadAnswer},
		"withheld":                              {chunks(nil, model.Chunk{Text: "I", Stop: model.StopFilter}), model.Refused},
		"no room to answer":                     {chunks(nil, model.Chunk{Reasoning: "hm", Stop: model.StopLength}), model.Truncated},
		"a call of nothing":                     {chunks(nil, delta(0, "a", "", "{}"), model.Chunk{Stop: model.StopCalls}), model.BadAnswer},
		"a call of a tool that was not offered": {chunks(nil, delta(0, "a", "find", "{}"), model.Chunk{Stop: model.StopCalls}), model.BadAnswer},
		"a text and a call of a tool that was not offered": {chunks(nil, model.Chunk{Text: "I look."}, delta(0, "a", "find", "{}"), model.Chunk{Stop: model.StopCalls}), model.BadAnswer},
		"it fails half way": {chunks(cut, model.Chunk{Text: "half"}), model.Unreachable},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := model.Generate(t.Context(), tt.m, model.Request{Model: "m"})
			if got := model.KindOf(err); got != tt.want {
				t.Errorf("got %v, want the kind %q", err, tt.want)
			}
		})
	}
}

func TestAnswer_WithoutEndIsStopped(t *testing.T) {
	yielded := 0
	for name, c := range map[string]model.Chunk{
		"text":  {Text: strings.Repeat("x", 1<<16)},
		"calls": delta(0, "", "f", strings.Repeat("x", 1<<16)),
	} {
		m := model.Func(func(context.Context, model.Request) iter.Seq2[model.Chunk, error] {
			return func(yield func(model.Chunk, error) bool) {
				for yielded = 0; yield(c, nil); yielded++ {
				}
			}
		})
		_, err := model.Generate(t.Context(), m, model.Request{})
		if model.KindOf(err) != model.BadAnswer || yielded > model.MaxAnswer>>16 {
			t.Errorf("%s: %v after %d chunks", name, err, yielded)
		}
	}
	n := 0
	many := model.Func(func(context.Context, model.Request) iter.Seq2[model.Chunk, error] {
		return func(yield func(model.Chunk, error) bool) {
			for ; yield(delta(n, "", "f", ""), nil); n++ {
			}
		}
	})
	if _, err := model.Generate(t.Context(), many, model.Request{}); model.KindOf(err) != model.BadAnswer {
		t.Errorf("calls without end: %v", err)
	}
}

func TestKind_DeterminesWhetherToRetry(t *testing.T) {
	helps := map[model.Kind]bool{
		model.RateLimited: true, model.Overloaded: true, model.Timeout: true, model.Unreachable: true,
		model.CutOff: true, model.BadAnswer: true, model.Refused: false, model.ContextTooLong: false,
		model.Truncated: false, model.Invalid: false, model.Auth: false, model.Quota: false,
	}
	for k, want := range helps {
		err := fmt.Errorf("node: %w", &model.Error{Kind: k})
		if model.Retriable(err) != want {
			t.Errorf("%s: Retriable is %v", k, !want)
		}
	}
	for _, err := range []error{nil, errors.New("other"), &model.BudgetError{}, context.Canceled} {
		if model.Retriable(err) {
			t.Errorf("%v is retriable", err)
		}
	}
}

func TestChoice_MayNameATool(t *testing.T) {
	if name, ok := model.Use("find").Tool(); name != "find" || !ok {
		t.Errorf("got %q, %v", name, ok)
	}
	for _, c := range []model.Choice{model.Auto, model.None, model.Required} {
		if name, ok := c.Tool(); ok {
			t.Errorf("%q names %q", c, name)
		}
	}
}
