package server

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"

	"github.com/coder/websocket"

	"github.com/weftrun/weft/server/queue"
	"github.com/weftrun/weft/server/wire"
	"github.com/weftrun/weft/server/work"
)

// readFilter reads the parameters of a subscription.
func readFilter(raw json.RawMessage) (wire.Subscription, error) {
	sub, err := wire.ReadSubscription(raw)
	var fault *wire.Error
	if errors.As(err, &fault) {
		return sub, badCommand(fault.Detail)
	}
	return sub, err
}

// subscriptionID returns the id of a new subscription. It holds what is selected, so any process
// can restore the subscription on another socket.
func subscriptionID(sub wire.Subscription) (string, error) {
	sub.Since = 0
	data, err := encode(sub)
	return newID() + "." + base64.RawURLEncoding.EncodeToString(data), err
}

// selectedBy returns what the subscription with an id selects. ok is false for an id that is not of
// a server of this kind.
func selectedBy(id string) (sub wire.Subscription, ok bool) {
	_, text, _ := strings.Cut(id, ".")
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		sub, err = wire.ReadSubscription(data)
	}
	return sub, err == nil
}

// subscription is one of a socket.
type subscription struct {
	socket   *socket
	id       string
	ctx      context.Context
	cancel   context.CancelFunc
	protocol *wire.Protocol
	reader   *work.Reader
	replay   []wire.ProtocolEvent // those that are stored
}

// open adds a subscription to the socket, and reads the events that are stored. Either end or
// deliver must be called.
func (s *socket) open(ctx context.Context, id string, selected wire.Subscription) (*subscription, error) {
	sub := &subscription{socket: s, id: id, protocol: wire.NewProtocol(selected)}
	sub.ctx, sub.cancel = context.WithCancel(ctx)
	s.mu.Lock()
	full, double := len(s.subscriptions) >= socketSubscriptions, s.subscriptions[id] != nil
	if !full && !double {
		s.subscriptions[id] = sub
	}
	s.mu.Unlock()
	switch {
	case full:
		sub.cancel()
		return nil, badCommand("the socket has too many subscriptions")
	case double:
		sub.cancel()
		return nil, badCommand("the socket has this subscription already")
	}
	sub.reader = s.c.server.hub.Open(s.thread.ThreadID, 0)
	err := sub.reader.Read(sub.ctx, func(e wire.Event) error {
		events, err := sub.protocol.Project(e)
		sub.replay = append(sub.replay, events...)
		return err
	})
	if err != nil {
		sub.end()
		return nil, err
	}
	return sub, nil
}

func (sub *subscription) end() {
	sub.cancel()
	sub.reader.Close()
	sub.socket.mu.Lock()
	defer sub.socket.mu.Unlock()
	if sub.socket.subscriptions[sub.id] == sub { // else it was restored after an unsubscribe
		delete(sub.socket.subscriptions, sub.id)
	}
}

// deliver sends the events that are stored, and in another goroutine those to come. ctx is that of
// the socket, since a write that is cancelled closes it.
func (sub *subscription) deliver(ctx context.Context) error {
	s := sub.socket
	for _, e := range sub.replay {
		if err := s.write(ctx, e.Data); err != nil {
			sub.end()
			return err
		}
	}
	sub.replay = nil
	s.readers.Go(func() {
		defer sub.end()
		err := s.c.server.counts.slow(followReader(sub.ctx, sub.reader, nil, func(e wire.Event) error {
			events, err := sub.protocol.Project(e)
			for i := 0; i < len(events) && err == nil; i++ {
				err = s.write(ctx, events[i].Data)
			}
			return err
		}))
		if err != nil && sub.ctx.Err() == nil {
			_ = s.conn.Close(websocket.StatusInternalError, "the events are lost") // the client reconnects
		}
	})
	return nil
}

// subscribed is the result of a subscription.
type subscribed struct {
	ID       string `json:"subscription_id"`
	Replayed int    `json:"replayed_events"`
}

// subscribe answers with the number of events that are stored, sends them, and then those to come.
func (s *socket) subscribe(ctx context.Context, command wire.Command) error {
	selected, err := readFilter(command.Params)
	if err != nil {
		return err
	}
	id, err := subscriptionID(selected)
	if err != nil {
		return err
	}
	sub, err := s.open(ctx, id, selected)
	if err != nil {
		return err
	}
	if err := s.answer(ctx, command, subscribed{id, len(sub.replay)}); err != nil {
		sub.end()
		return err
	}
	return sub.deliver(ctx)
}

func (s *socket) unsubscribe(ctx context.Context, command wire.Command) error {
	var p struct {
		ID string `json:"subscription_id"`
	}
	if json.Unmarshal(command.Params, &p) != nil {
		return badCommand("subscription_id must be a string")
	}
	s.mu.Lock()
	sub := s.subscriptions[p.ID]
	delete(s.subscriptions, p.ID)
	s.mu.Unlock()
	if sub == nil {
		return &commandFault{wire.CommandNoSubscription, "there is no such subscription"}
	}
	sub.cancel()
	return s.answer(ctx, command, nil)
}

// reconnectParams are the parameters of subscription.reconnect.
type reconnectParams struct {
	RunID         string   `json:"run_id"`        // "" means that the client knows none
	LastEventID   string   `json:"last_event_id"` // "" means that the client has no event
	Subscriptions []string `json:"subscriptions"`
}

// maxReplay is how many bytes of stored events one subscription.reconnect may send. They are all in
// memory at once; a client for which they are too many subscribes one by one.
const maxReplay = 16 << 20

// reconnected is the result of subscription.reconnect.
type reconnected struct {
	// Restored is true if the subscriptions are open again. Otherwise none is.
	Restored bool `json:"restored"`
	// Missed is how many batches of events after the last event of the client are gone.
	Missed     uint64            `json:"missed_events"`
	Replayed   int               `json:"replayed_events"`
	Namespaces []namespaceStatus `json:"current_namespaces"`
}

// namespaceStatus is the status of a graph of the newest run.
type namespaceStatus struct {
	Namespace []string `json:"namespace"`
	Status    string   `json:"status"`
}

func (n *treeNode) statuses() []namespaceStatus {
	list := []namespaceStatus{{n.Namespace, n.Status}}
	for _, inner := range n.Children {
		list = append(list, inner.statuses()...)
	}
	return list
}

// reconnect opens the subscriptions of another socket under their ids, sends the events after the
// last that the client has, and then those to come.
func (s *socket) reconnect(ctx context.Context, command wire.Command) error {
	var p reconnectParams
	if err := params(command.Params, &p); err != nil {
		return err
	}
	since, err := sinceEvent(p.LastEventID)
	if err != nil {
		return err
	}
	if p.RunID != "" {
		_, err := s.c.server.queue.Get(ctx, s.thread.ThreadID, p.RunID)
		if errors.Is(err, queue.ErrNotFound) {
			return &commandFault{wire.CommandNoRun, "the thread has no such run"}
		}
		if err != nil {
			return err
		}
	}
	tree, err := s.c.tree(s.c.newest(s.thread))
	if err != nil {
		return err
	}
	result := reconnected{Namespaces: tree.statuses()}
	last, err := s.c.server.events().Last(ctx, s.thread.ThreadID)
	if err != nil {
		return err
	}
	var open []*subscription
	if wire.RecordSeq(since) <= last { // else the events are those of a log that is gone
		if open, err = s.reopen(ctx, p.Subscriptions, since); err != nil {
			return err
		}
	}
	defer func() {
		for _, sub := range open { // those that are not delivered
			sub.end()
		}
	}()
	result.Restored = len(open) > 0
	for _, sub := range open {
		result.Replayed += len(sub.replay)
		missed := sub.reader.Missed()
		result.Missed = max(result.Missed, missed-min(missed, work.Position(wire.RecordSeq(since))))
	}
	if err := s.answer(ctx, command, result); err != nil {
		return err
	}
	for len(open) > 0 {
		sub := open[0]
		open = open[1:]
		if err := sub.deliver(ctx); err != nil {
			return err
		}
	}
	return nil
}

// reopen opens subscriptions under their ids, with the events after since. It opens none if one is
// not known, or if they have more than maxReplay bytes of stored events.
func (s *socket) reopen(ctx context.Context, ids []string, since uint64) (open []*subscription, err error) {
	selected := make([]wire.Subscription, len(ids))
	for i, id := range ids {
		var ok bool
		if selected[i], ok = selectedBy(id); !ok {
			return nil, nil
		}
		selected[i].Since = since
	}
	size := 0
	for i := 0; i < len(ids) && size <= maxReplay && err == nil; i++ {
		var sub *subscription
		if sub, err = s.open(ctx, ids[i], selected[i]); err == nil {
			open = append(open, sub)
			for _, e := range sub.replay {
				size += len(e.Data)
			}
		}
	}
	if err == nil && size <= maxReplay {
		return open, nil
	}
	for _, sub := range open {
		sub.end()
	}
	return nil, err
}

// sinceEvent reads the id of the last event that a client has.
func sinceEvent(id string) (uint64, error) {
	if id == "" {
		return 0, nil
	}
	since, err := wire.EventSeq(id)
	if err != nil {
		return 0, badCommand("last_event_id must be the id of an event")
	}
	return since, nil
}
