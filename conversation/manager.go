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

// MessageStore is the repository of a Manager. [Repository] implements it.
type MessageStore interface {
	Add(ctx context.Context, thread string, ms ...message.Message) ([]message.Message, error)
	Get(ctx context.Context, thread string, o Options) ([]message.Message, error)
}

// Socket is notified of each message after it was stored. It should return at once. An error or a
// panic is logged and has no other effect.
type Socket interface {
	Notify(ctx context.Context, n Notice) error
}

// Notice reports a message that was added to a thread.
type Notice struct {
	Thread  string          `json:"thread"` // the thread of the Add
	Message message.Message `json:"message"`
}

// Config configures a Manager.
type Config struct {
	Repository MessageStore
	// Sockets are notified of each message, in this order.
	Sockets []Socket
	// Log receives failed notifications; nil means slog.Default().
	Log *slog.Logger
	// RetryFor limits the time of all notifications of one Add together; then their context
	// ends. 0 means 2 seconds. An unreachable bus delays an Add no longer than that.
	RetryFor time.Duration
	// History is the number of messages that Exchange passes to the answer function; nil means all.
	History *int
}

// Manager adds messages to threads and gets them. It is safe for concurrent use.
type Manager struct{ cfg Config }

// New returns a Manager. It returns an ErrConfig without a Repository or with a nil Socket.
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

// Add stores messages by one call of the repository, and then notifies every socket of each
// message, in order. It returns the messages as stored. An error comes from the repository; then no
// socket is notified.
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

// notifySockets notifies also when ctx has ended, because the messages are stored.
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

// Exchange is one turn of a conversation. It calls answer with the last Config.History messages,
// and stores the question and the answer in one Add, in this order. If answer fails or panics, if
// its message cannot be stored, or if ctx ends, it stores the question alone and returns the error.
func (m *Manager) Exchange(ctx context.Context, thread string, question message.Message, answer func(ctx context.Context, history []message.Message) (message.Message, error)) (message.Message, error) {
	history, err := m.Get(ctx, thread, Options{Limit: m.cfg.History})
	if err != nil {
		return message.Message{}, err
	}
	question = question.Clone()
	if err := identify(&question, time.Now()); err != nil { // a second Add of the question then replaces the first
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
