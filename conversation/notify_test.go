package conversation_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/checkpoint/topic"
	"github.com/weftrun/weft/conversation"
	"github.com/weftrun/weft/state/message"
)

// deadBus is a bus whose Publish fails.
type deadBus struct{ topic.Bus }

func (deadBus) Publish(context.Context, string, []byte) error { return errors.New("the bus is down") }

func TestManagerAdd_BusDown(t *testing.T) {
	var log bytes.Buffer
	repo, err := conversation.NewRepository(new(document.Map))
	if err != nil {
		t.Fatal(err)
	}
	m := manager(t, conversation.Config{
		Repository: repo, Sockets: []conversation.Socket{conversation.NewFeed(deadBus{new(topic.Local)})}, Log: slog.New(slog.NewTextHandler(&log, nil)),
	})
	if _, err := m.Add(t.Context(), "t", message.User("a"), message.Assistant("b")); err != nil {
		t.Errorf("rule: a bus cannot fail an Add\n got: %v", err)
	}
	ms, err := repo.Get(t.Context(), "t", conversation.Options{})
	if err != nil || len(ms) != 2 {
		t.Errorf("rule: the messages are stored\n got: %d messages, %v", len(ms), err)
	}
	if n := strings.Count(log.String(), "the bus is down"); n != 2 {
		t.Errorf("rule: each failure is logged\n got: %d of 2 in %s", n, log.String())
	}
}
