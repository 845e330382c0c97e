package model_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"testing"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/state/message"
)

// failing yields chunks and then an error. It adds each request's model to asked.
func failing(asked *[]string, name string, err error, chunks ...model.Chunk) model.Model {
	return model.Func(func(_ context.Context, r model.Request) iter.Seq2[model.Chunk, error] {
		return func(yield func(model.Chunk, error) bool) {
			*asked = append(*asked, name+"/"+r.Model)
			for _, c := range chunks {
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

func TestFallback_AsksTheNextModelOnlyIfItMayHelp(t *testing.T) {
	fine := []model.Chunk{{Text: "ok"}, {Stop: model.StopEnd}}
	for name, tt := range map[string]struct {
		first  error
		chunks []model.Chunk
		next   bool
	}{
		"it succeeds":            {nil, fine, false},
		"overloaded":             {&model.Error{Kind: model.Overloaded}, nil, true},
		"limited":                {&model.Error{Kind: model.RateLimited}, nil, true},
		"no quota":               {&model.Error{Kind: model.Quota}, nil, true},
		"a wrong key":            {&model.Error{Kind: model.Auth}, nil, true},
		"after its name alone":   {&model.Error{Kind: model.Overloaded}, []model.Chunk{{Model: "m-1"}}, true},
		"after some text":        {&model.Error{Kind: model.Overloaded}, []model.Chunk{{Text: "a"}}, false},
		"a refusal":              {&model.Error{Kind: model.Refused}, nil, false},
		"an invalid request":     {&model.Error{Kind: model.Invalid}, nil, false},
		"a spent budget":         {&model.BudgetError{Limit: model.LimitCalls}, nil, false},
		"an error of its own":    {errors.New("broken"), nil, false},
		"a conversation too big": {&model.Error{Kind: model.ContextTooLong}, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			var asked []string
			m := model.Fallback(failing(&asked, "a", tt.first, tt.chunks...), failing(&asked, "b", nil, fine...))
			r, err := model.Generate(t.Context(), m, model.Request{Model: "m"})
			want := []string{"a/m"}
			if tt.next {
				want = append(want, "b/")
			}
			if !slices.Equal(asked, want) {
				t.Errorf("asked %v, want %v", asked, want)
			}
			if failed := tt.first != nil && !tt.next; failed != (err != nil) || failed && !errors.Is(err, tt.first) {
				t.Errorf("got %q, %v", r.Message.Text(), err)
			}
		})
	}
}

func TestFallback_ReportsAllFailuresTemporaryOnesFirst(t *testing.T) {
	var asked []string
	quota, busy := &model.Error{Kind: model.Quota}, &model.Error{Kind: model.Overloaded}
	_, err := model.Generate(t.Context(), model.Fallback(failing(&asked, "a", quota), failing(&asked, "b", busy)), model.Request{})
	if !errors.Is(err, quota) || !errors.Is(err, busy) || !model.Retriable(err) {
		t.Errorf("got %v", err)
	}
}

func TestFallback_StopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var asked []string
	first := model.Func(func(context.Context, model.Request) iter.Seq2[model.Chunk, error] {
		return func(yield func(model.Chunk, error) bool) {
			cancel()
			yield(model.Chunk{}, &model.Error{Kind: model.Overloaded})
		}
	})
	if _, err := model.Generate(ctx, model.Fallback(first, failing(&asked, "b", nil)), model.Request{}); err == nil || asked != nil {
		t.Errorf("got %v after %v", err, asked)
	}
}

func TestFallback_SharesAMeter(t *testing.T) {
	var asked []string
	meter := &model.Meter{Budget: model.Budget{Calls: 3}, Prices: model.Prices{"a": {Input: 1e6}, "b": {Input: 2e6}}}
	named := func(name string, err error, chunks ...model.Chunk) model.Model {
		inner := model.Limited(failing(&asked, name, err, chunks...), meter)
		return model.Func(func(ctx context.Context, r model.Request) iter.Seq2[model.Chunk, error] {
			r.Model = name
			return inner.Stream(ctx, r)
		})
	}
	m := model.Fallback(named("a", &model.Error{Kind: model.Overloaded}, model.Chunk{Usage: &message.Usage{Input: 1}}),
		named("b", nil, model.Chunk{Text: "ok", Usage: &message.Usage{Input: 1}}, model.Chunk{Stop: model.StopEnd}))
	if _, err := model.Generate(t.Context(), m, model.Request{}); err != nil {
		t.Fatal(err)
	}
	if got := meter.Spent(); got.Calls != 2 || got.Money != 3 {
		t.Errorf("spent %+v", got)
	}
	var spent *model.BudgetError
	if _, err := model.Generate(t.Context(), m, model.Request{}); !errors.As(err, &spent) || len(asked) != 3 {
		t.Errorf("got %v after %v", err, asked)
	}
}

// An answer keeps the parts of its provider in their place.
func TestGenerate_KeepsPartsOfTheProvider(t *testing.T) {
	var asked []string
	thought := &message.Part{Type: "own.thought"}
	r, err := model.Generate(t.Context(), failing(&asked, "a", nil, model.Chunk{Text: "a"}, model.Chunk{Part: thought}, model.Chunk{Text: "b"}, model.Chunk{Text: "c"}, model.Chunk{Stop: model.StopEnd}), model.Request{})
	var types []string
	for _, p := range r.Message.Content {
		types = append(types, p.Type+p.Text)
	}
	if want := []string{"texta", "own.thought", "textbc"}; err != nil || !slices.Equal(types, want) {
		t.Errorf("got %q, %v, want %q", types, err, want)
	}
}
