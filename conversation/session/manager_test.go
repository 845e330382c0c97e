package session_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/conversation/session"
	"github.com/weftrun/weft/state/message"
)

func TestNew_NeedsAStore(t *testing.T) {
	for _, cfg := range []session.Config{
		{}, {Store: new(document.Map), TTL: -1}, {Store: new(document.Map), Window: message.Window{MaxTokens: -1}},
	} {
		if _, err := session.New(cfg); !errors.Is(err, session.ErrConfig) {
			t.Errorf("got %v, want ErrConfig", err)
		}
	}
}

func TestSweeper_Run(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, err := session.New(session.Config{Store: new(document.Map), TTL: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		s, err := m.Create(t.Context(), session.Start{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		why, ended := errors.New("closing time"), make(chan error, 1)
		go func() { ended <- (&session.Sweeper{Manager: m}).Run(ctx) }()
		time.Sleep(59 * time.Minute) // in the fake time of synctest
		if _, err := m.Get(t.Context(), s.ID); err != nil {
			t.Errorf("got %v before the time is over", err)
		}
		time.Sleep(3 * time.Minute)
		synctest.Wait()
		if err := m.End(t.Context(), s.ID); err != nil {
			t.Error(err)
		}
		if _, err := m.Get(t.Context(), s.ID); !errors.Is(err, session.ErrNotFound) || errors.Is(err, session.ErrEnded) {
			t.Errorf("rule: the sweeper has removed the session\n got: %v", err)
		}
		cancel(why)
		if err := <-ended; !errors.Is(err, why) {
			t.Errorf("got %v, want the cause", err)
		}
	})
}

func TestFollow_IsPure(t *testing.T) {
	open := []string{"1", "2"}
	still, flagged, err := session.Follow(open, []message.Message{message.Tool(message.ResultOf("1", "r")), message.User("q"), message.Assistant("", message.Call{ID: "3", Name: "f"})})
	if err != nil || len(still) != 2 || still[0] != "2" || still[1] != "3" || len(flagged) != 1 || flagged[0] != "2" || open[0] != "1" || open[1] != "2" {
		t.Errorf("got %q, flagged %q, %v; the input is %q", still, flagged, err, open)
	}
	var invalid *message.InvalidError
	_, _, err = session.Follow(nil, []message.Message{message.Tool(message.ResultOf("x", "r")), message.Tool(message.ResultOf("y", "r"))})
	if !errors.As(err, &invalid) || len(invalid.Problems) != 2 {
		t.Errorf("rule: one error reports all mistakes\n got: %v", err)
	}
}

func TestDerive_IsPure(t *testing.T) {
	log := []message.Message{message.System("s"), message.User("q0"), message.Assistant("a0"), message.User("q1")}
	short := message.System("so far")
	fit, err := session.Derive(log, &short, 3, message.Window{})
	if err != nil || len(fit.Messages) != 3 || fit.Messages[1].Text() != "so far" || fit.Messages[2].Text() != "q1" || log[1].Text() != "q0" {
		t.Errorf("got %v, %v", fit.Messages, err)
	}
}

func TestList_LiveAndWaiting(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	var docs document.Map
	m, err := session.New(session.Config{Store: &docs, TTL: time.Hour, Now: func() time.Time { return now }, Engine: unresponsive{}})
	if err != nil {
		t.Fatal(err)
	}
	do := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	do(m.Create(t.Context(), session.Start{ID: "a", User: "ada", System: "Be brief."}))
	now = now.Add(30 * time.Minute)
	do(m.Create(t.Context(), session.Start{ID: "b"}))
	do(m.Reset(t.Context(), session.Start{ID: "b", User: "bob"}))
	now = now.Add(30 * time.Minute)
	got := map[string]session.Listed{}
	for l, err := range m.List(t.Context()) {
		do(l, err)
		got[l.ID] = l
	}
	a, b := got["a"], got["b"]
	if len(got) != 2 || a.Live == nil || !a.Over || a.Live.User != "ada" || a.Live.Messages != 1 || len(a.Waiting) != 0 {
		t.Errorf("rule: a session past its deadline is live and over until a sweep\n got: %+v", got)
	}
	if b.Live == nil || b.Over || b.Live.User != "bob" || len(b.Waiting) != 1 || b.Waiting[0].Reason != session.ReasonReset || b.Waiting[0].Key == "" {
		t.Errorf("rule: the earlier generation waits beside the live session\n got: %+v", b)
	}
	done, err := (&session.Sweeper{Manager: m}).Sweep(t.Context())
	if err == nil || done.Expired != 1 {
		t.Errorf("got %+v, %v from an engine that refuses", done, err)
	}
	for l, err := range m.List(t.Context()) {
		do(l, err)
		if len(l.Waiting) != 1 || l.Waiting[0].Offloaded || l.Waiting[0].Attempts != 1 {
			t.Errorf("rule: List shows a failed offload\n got: %+v", l)
		}
		break // a reader may stop early
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range m.List(ctx) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want the context's error", err)
		}
	}
}

// unresponsive is an engine whose Offload fails.
type unresponsive struct{}

func (unresponsive) Offload(context.Context, session.Ended) error { return errors.New("not now") }

func (unresponsive) Bootstrap(context.Context, string) (string, error) { return "", nil }
