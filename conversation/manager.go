package conversation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/state/message"
)

// Keeper is what a Manager asks of a repository; see [Repository] for what the two promise.
type MessageStore interface {
	Add(ctx context.Context, thread string, ms ...message.Message) ([]message.Message, error)
	Get(ctx context.Context, thread string, o Options) ([]message.Message, error)
}

// Socket is told of each message after it was persisted. It should return at once. What it
// returns, and a panic, is logged and has no other effect.
type Socket interface {
	Notify(ctx context.Context, n Notice) error
}

// Notice says that a message was added to a thread.
type Notice struct {
	Thread  string          `json:"thread"` // that of the Add
	Message message.Message `json:"message"`
}

// Config says what a Manager is made of.
type Config struct {
	Repository MessageStore
	// Sockets are told of each message, in this order.
	Sockets []Socket
	// Log is told of failed notifications; nil means slog.Default().
	Log *slog.Logger
	// Patience is how long all notifications of one Add may take together, after which
	// their context ends; 0 means 2 seconds. So a bus that cannot be reached holds up
	// nobody for longer.
	RetryFor time.Duration
	// History is how many messages Exchange gives to who answers; nil means all.
	History *int
}

// Manager adds messages to threads and gets them. It is safe for concurrent use.
type Manager struct{ cfg Config }

// New returns a Manager. One without a Repository, or with a nil Socket, is an ErrConfig.
func New(cfg Config) (*Manager, error) {
	if cfg.Repository == nil {
		return nil, fmt.Errorf("%w: a manager needs a repository", ErrConfig)
	}
	for i, s := range cfg.Sockets {
		if s == nil {
			return nil, fmt.Errorf("%w: socket %d is nil", ErrConfig, i)
		}
	}
	cfg.Log = cmp.Or(cfg.Log, slog.Default())
	cfg.RetryFor = cmp.Or(cfg.RetryFor, 2*time.Second)
	return &Manager{cfg}, nil
}

// Add persists messages by one call of the repository, and then notifies every socket of
// each of them, in order. It returns them as they were kept. An error is the repository's, and
// then nobody was notified.
func (m *Manager) Add(ctx context.Context, thread string, ms ...message.Message) ([]message.Message, error) {
	if err := checkpoint.CheckThread(thread); err != nil {
		return nil, err
	}
	if len(ms) == 0 {
		return nil, nil
	}
	stored, err := m.cfg.Repository.Add(ctx, thread, ms...)
	if err != nil {
		return nil, err
	}
	m.notifySockets(ctx, thread, stored)
	return stored, nil
}

// tell notifies although ctx may have ended: the messages are kept.
func (m *Manager) notifySockets(ctx context.Context, thread string, ms []message.Message) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), m.cfg.RetryFor)
	defer cancel()
	for _, msg := range ms {
		for i, s := range m.cfg.Sockets {
			if err := notify(ctx, s, Notice{thread, msg.Clone()}); err != nil {
				m.cfg.Log.Warn("conversation: a notification failed", "thread", thread, "message", msg.ID, "socket", i, "error", err)
			}
		}
	}
}

func notify(ctx context.Context, s Socket, n Notice) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v\n%s", ErrPanic, p, debug.Stack())
		}
	}()
	return s.Notify(ctx, n)
}

// Get returns messages of a thread as the repository does.
func (m *Manager) Get(ctx context.Context, thread string, o Options) ([]message.Message, error) {
	if err := checkpoint.CheckThread(thread); err != nil {
		return nil, err
	}
	return m.cfg.Repository.Get(ctx, thread, o)
}

// Exchange is one turn of a conversation. It gives answer the last Config.History messages,
// and keeps the question and the answer in one Add, in this order. Where answer fails or
// panics, or its message cannot be kept, or ctx ends meanwhile, the question alone is kept
// and the error returned.
func (m *Manager) Exchange(ctx context.Context, thread string, question message.Message, answer func(ctx context.Context, history []message.Message) (message.Message, error)) (message.Message, error) {
	history, err := m.Get(ctx, thread, Options{Limit: m.cfg.History})
	if err != nil {
		return message.Message{}, err
	}
	question = question.Clone()
	if err := identify(&question, time.Now()); err != nil { // so that it is one message, however often it is kept
		return message.Message{}, place(thread, err)
	}
	said, err := ask(ctx, history, answer)
	if err == nil {
		var stored []message.Message
		if stored, err = m.Add(ctx, thread, question, said); err == nil {
			return stored[len(stored)-1], nil
		}
	}
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), m.cfg.RetryFor)
	defer cancel()
	_, lost := m.Add(late, thread, question)
	return message.Message{}, errors.Join(err, lost)
}

func ask(ctx context.Context, history []message.Message, answer func(context.Context, []message.Message) (message.Message, error)) (said message.Message, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v\n%s", ErrPanic, p, debug.Stack())
		}
	}()
	return answer(ctx, history)
}
