package model_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/state/message"
)

func costs(in, out int) model.Answer {
	return model.Answer{Text: "ok", Usage: &message.Usage{Input: in, Output: out}}
}

func TestLimit_ReachedIsAnError(t *testing.T) {
	prices := model.Prices{"m": {Input: 2, Output: 10}}
	for name, tt := range map[string]struct {
		budget model.Budget
		limit  model.Limit
		calls  int // that are allowed
	}{
		"calls":  {model.Budget{Calls: 2}, model.LimitCalls, 2},
		"tokens": {model.Budget{Tokens: 150}, model.LimitTokens, 2},
		"money":  {model.Budget{Money: 0.001}, model.LimitMoney, 2},
		"time":   {model.Budget{Time: 10 * time.Second}, model.LimitTime, 3},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := model.ScriptFunc(func(context.Context, model.Request) model.Answer {
					a := costs(50, 50)
					a.Before = time.Second
					return a
				})
				meter := &model.Meter{Budget: tt.budget, Prices: prices}
				limited := model.Limited(m, meter)
				for range tt.calls {
					if _, err := model.Generate(t.Context(), limited, model.Request{Model: "m"}); err != nil {
						t.Fatal(err)
					}
				}
				if tt.limit == model.LimitTime {
					meter.Add(model.Spend{Time: 7 * time.Second}) // a call that ends just in time may be stopped
				}
				_, err := model.Generate(t.Context(), limited, model.Request{Model: "m"})
				var over *model.BudgetError
				if !errors.As(err, &over) || over.Limit != tt.limit || over.Spent != meter.Spent() {
					t.Errorf("got %v, want a BudgetError of %s", err, tt.limit)
				}
				if n := len(m.Requests()); n != tt.calls {
					t.Errorf("the model was asked %d times, %d are allowed", n, tt.calls)
				}
			})
		})
	}
}

func TestCall_OutOfTimeIsStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		meter := &model.Meter{Budget: model.Budget{Time: 5 * time.Second}}
		limited := model.Limited(model.Script(model.Answer{Text: "a", Hang: true}), meter)
		_, err := model.Generate(t.Context(), limited, model.Request{})
		var over *model.BudgetError
		if !errors.As(err, &over) || over.Limit != model.LimitTime || over.Spent.Time != 5*time.Second {
			t.Errorf("got %v", err)
		}
		if got := meter.Spent().Time; got != 5*time.Second {
			t.Errorf("%s were counted", got)
		}
	})
}

func TestMeter_ContextErrorIsNoBudgetError(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	limited := model.Limited(model.Script(model.Say("a")), &model.Meter{Budget: model.Budget{Time: time.Hour}})
	if _, err := model.Generate(ctx, limited, model.Request{}); !errors.Is(err, why) {
		t.Errorf("got %v", err)
	}
}

// Requirement: a limit counts configurations, not calls
func TestMeter_CallLimitIsExactUnderRaces(t *testing.T) {
	m := model.ScriptFunc(func(context.Context, model.Request) model.Answer { return costs(1, 1) })
	meter := &model.Meter{Budget: model.Budget{Calls: 10}}
	limited := model.Limited(m, meter)
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() { _, _ = model.Generate(t.Context(), limited, model.Request{}) })
	}
	wg.Wait()
	want := model.Spend{Calls: 10, Input: 10, Output: 10}
	got := meter.Spent()
	got.Time = 0
	if d := cmp.Diff(want, got); d != "" || len(m.Requests()) != 10 {
		t.Errorf("%s; asked %d times", d, len(m.Requests()))
	}
}

func TestMeter_EstimatesUnreportedTokens(t *testing.T) {
	r := model.Request{Messages: []message.Message{message.User("twelve bytes")}}
	want, err := message.Total(message.Estimate{}, append(r.Messages, message.Assistant("eight by")))
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		answer model.Answer
		want   int
	}{
		"whole":        {model.Answer{Text: "eight by"}, want},
		"cut off":      {model.Answer{Text: "eight by", CutOff: true}, want},
		"it failed":    {model.Answer{Text: "eight by", Err: &model.Error{Kind: model.Timeout}}, want},
		"it said zero": {model.Answer{Text: "eight by", Usage: &message.Usage{}}, 0},
	} {
		meter := &model.Meter{}
		_, _ = model.Generate(t.Context(), model.Limited(model.Script(tt.answer), meter), r)
		if got := meter.Spent().Tokens(); got != tt.want {
			t.Errorf("%s: %d tokens were counted, want %d", name, got, tt.want)
		}
	}
}

func TestLimit_MoneyWithoutAPriceIsRefused(t *testing.T) {
	m := model.Script(model.Say("a"))
	limited := model.Limited(m, &model.Meter{Budget: model.Budget{Money: 1}, Prices: model.Prices{"known": {Input: 1}}})
	if _, err := model.Generate(t.Context(), limited, model.Request{Model: "other"}); !errors.Is(err, model.ErrNoPrice) {
		t.Errorf("got %v", err)
	}
	if len(m.Requests()) != 0 {
		t.Error("the model was called all the same")
	}
}

func TestPrice_OfCachedTokens(t *testing.T) {
	u := message.Usage{Input: 1_000_000, Cached: 400_000, Output: 100_000}
	if got := (model.Price{Input: 2, Output: 10, Cached: 0.5}).Of(u); got != 1.2+0.2+1 {
		t.Errorf("got %v", got)
	}
	if got := (model.Price{Input: 2, Output: 10}).Of(u); got != 3 {
		t.Errorf("got %v", got)
	}
}

func TestLimitedEmbedder_CountsAndStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failing := errors.New("broken")
		asked := 0
		e := model.EmbedFunc(func(ctx context.Context, r model.EmbedRequest) (model.Embeddings, error) {
			asked++
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
				return model.Embeddings{}, ctx.Err()
			}
			switch r.Texts[0] {
			case "fail":
				return model.Embeddings{}, failing
			case "uncounted":
				return model.Embeddings{Vectors: [][]float32{{1}}}, nil
			}
			return model.Embeddings{Vectors: [][]float32{{1}}, Usage: message.Usage{Input: 40}, Counted: true}, nil
		})
		meter := &model.Meter{Budget: model.Budget{Time: 3500 * time.Millisecond, Tokens: 1000}, Prices: model.Prices{"m": {Input: 2e6}}}
		limited := model.LimitedEmbedder(e, meter)
		ask := func(text string) error {
			_, err := limited.Embed(t.Context(), model.EmbedRequest{Model: "m", Texts: []string{text}})
			return err
		}
		if err := ask("tea"); err != nil {
			t.Fatal(err)
		}
		if got, want := meter.Spent(), (model.Spend{Calls: 1, Input: 40, Money: 80, Time: time.Second}); got != want {
			t.Errorf("spent %+v, want %+v", got, want)
		}
		if err := ask("fail"); !errors.Is(err, failing) {
			t.Errorf("got %v, want the failure of the model", err)
		}
		if got, want := meter.Spent(), (model.Spend{Calls: 2, Input: 40, Money: 80, Time: 2 * time.Second}); got != want {
			t.Errorf("after a failure: spent %+v, want %+v", got, want)
		}
		if err := ask("uncounted"); err != nil || meter.Spent().Input <= 40 {
			t.Errorf("got %v and %+v, want an estimate of the tokens", err, meter.Spent())
		}
		var over *model.BudgetError
		if err := ask("late"); !errors.As(err, &over) || over.Limit != model.LimitTime {
			t.Errorf("got %v, want the end of the time", err)
		}
		if err := ask("later"); !errors.As(err, &over) || asked != 4 {
			t.Errorf("got %v after %d requests, want a refusal without a request", err, asked)
		}
	})
}
