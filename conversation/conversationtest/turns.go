package conversationtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing/iotest"

	"github.com/weftrun/weft/conversation"
	"github.com/weftrun/weft/state/message"
)

var turns = []Rule{
	{"CM12", "roles are honoured through a manager, before the limit", func(w *world) {
		m := w.manager(conversation.Config{})
		for i := range 3 {
			w.exchange(m, fmt.Sprint("q", i), fmt.Sprint("a", i))
		}
		ms, err := m.Get(w.ctx, "t", options{Roles: []message.Role{message.RoleUser}, Limit: new(2)})
		if got := textsOf(ms); err != nil || !slices.Equal(got, []string{"q1", "q2"}) {
			w.Errorf("rule: %s\n got: %q, %v\nwant: q1 q2", w.rule, got, err)
		}
	}},
	{"CM13", "who answers gets the newest messages before the question", func(w *world) {
		m := w.manager(conversation.Config{History: new(2)})
		for i, want := range [][]string{nil, {"q0", "a0"}, {"q1", "a1"}} {
			if got := w.exchange(m, fmt.Sprint("q", i), fmt.Sprint("a", i)); !slices.Equal(got, want) {
				w.Errorf("rule: %s\n got: %q\nwant: %q", w.rule, got, want)
			}
		}
	}},
	{"CM14", "a question and its answer are kept by one write, the question first", func(w *world) {
		m := w.manager(conversation.Config{})
		w.exchange(m, "q", "a")
		if n := len(w.spy.batches); n != 1 {
			w.Errorf("rule: %s\n got: %d writes", w.rule, n)
		}
		if got := textsOf(w.get("t", options{})); !slices.Equal(got, []string{"q", "a"}) {
			w.Errorf("rule: %s\n got: %q", w.rule, got)
		}
	}},
	{"CM14", "a question that is not answered is kept", func(w *world) {
		m := w.manager(conversation.Config{})
		_, err := m.Exchange(w.ctx, "t", message.User("q"), func(context.Context, []message.Message) (message.Message, error) {
			return message.Message{}, iotest.ErrTimeout
		})
		if got := textsOf(w.get("t", options{})); !errors.Is(err, iotest.ErrTimeout) || !slices.Equal(got, []string{"q"}) {
			w.Errorf("rule: %s\n got: %q, %v", w.rule, got, err)
		}
	}},
}

func (w *world) manager(cfg conversation.Config) *conversation.Manager {
	w.Helper()
	cfg.Repository = w.repo
	m, err := conversation.New(cfg)
	if err != nil {
		w.Fatal(err)
	}
	return m
}

// exchange is one turn; it returns what who answers was given.
func (w *world) exchange(m *conversation.Manager, question, answer string) (history []string) {
	w.Helper()
	_, err := m.Exchange(w.ctx, "t", message.User(question), func(_ context.Context, ms []message.Message) (message.Message, error) {
		history = textsOf(ms)
		return message.Assistant(answer), nil
	})
	if err != nil {
		w.Fatal(err)
	}
	return history
}

func textsOf(ms []message.Message) (list []string) {
	for _, m := range ms {
		list = append(list, m.Text())
	}
	return list
}
