package model_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/state/message"
)

func TestScript_EndIsAnError(t *testing.T) {
	m := model.Script(model.Say("one"))
	if _, err := model.Generate(t.Context(), m, asked("a")); err != nil {
		t.Fatal(err)
	}
	_, err := model.Generate(t.Context(), m, asked("b"))
	var ended *model.ScriptError
	if !errors.As(err, &ended) || ended.Asked != 2 {
		t.Errorf("got %v", err)
	}
	if got := m.Requests()[1].Messages[0].Text(); got != "b" {
		t.Errorf("it recorded %q", got)
	}
}

func TestScript_AnswersTheExpectedRequests(t *testing.T) {
	m := model.ScriptFunc(func(_ context.Context, r model.Request) model.Answer {
		return model.Say("you said " + r.Messages[0].Text())
	})
	got, err := model.Generate(t.Context(), m, asked("this"))
	if err != nil || got.Message.Text() != "you said this" {
		t.Errorf("got %q, %v", got.Message.Text(), err)
	}
}

func TestScript_StreamsWordsInSimulatedTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := model.Script(model.Answer{Text: "one two three", Before: time.Minute, Between: time.Second})
		begun := time.Now()
		var words []string
		var at []time.Duration
		for c, err := range m.Stream(t.Context(), asked("?")) {
			if err != nil {
				t.Fatal(err)
			}
			words, at = append(words, c.Text), append(at, time.Since(begun))
		}
		if len(words) != 4 || words[1] != "two " || at[0] != time.Minute || at[2] != time.Minute+2*time.Second {
			t.Errorf("got %q at %v", words, at)
		}
	})
}

func TestScript_ThatHangsEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		_, err := model.Generate(ctx, model.Script(model.Answer{Text: "a", Hang: true}), asked("?"))
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}

func TestStream_ReaderMayStopEarly(t *testing.T) {
	meter := &model.Meter{}
	m := model.Limited(model.Script(model.Answer{Text: "a b c", Calls: []message.Call{{ID: "1", Name: "f"}}}), meter)
	for range m.Stream(t.Context(), asked("?")) {
		break
	}
	if got := meter.Spent(); got.Calls != 1 || got.Output == 0 {
		t.Errorf("what was read is not counted: %+v", got)
	}
}
