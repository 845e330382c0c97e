package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/state/message"
)

// Engine is the long-term memory beside sessions. It is never in their way: what it fails
// to do is logged, and an Offload is tried again.
type Engine interface {
	// Offload takes over a session that has ended. It may be called again with the same
	// Ended.Key, after a crash or a lost reply, and must then do nothing that it has done.
	Offload(ctx context.Context, e Ended) error
	// Bootstrap says in a few words what is known of a user; "" is nothing.
	Bootstrap(ctx context.Context, user string) (string, error)
}

// Ended is a session that is over, with all that was said.
type Ended struct {
	// Key is of this one life of the session alone: that by which an engine knows what it has done.
	Key      string
	ID       string
	User     string
	Reason   Reason
	Created  time.Time
	Ended    time.Time
	Messages []message.Message // the whole log, oldest first
}

// Reason says why a session ended.
type Reason string

const (
	ReasonEnd     Reason = "end"     // End
	ReasonReset   Reason = "reset"   // Reset
	ReasonTimeout Reason = "timeout" // nothing was appended for Config.TTL
)

// Session is what is known of a session that goes on.
type Session struct {
	ID       string
	User     string
	Created  time.Time
	Deadline time.Time // when it ends unless something is appended before
	Messages int       // in the log
	Tokens   int       // of the log, by Config.Window.Counter
	// Unanswered are the ids of calls without a result.
	Unanswered []string
	Version    uint64 // grows with every change
}

// Config says what a Manager is made of. Managers that share a store should have the same.
type Config struct {
	// Store keeps the sessions; nothing of them is kept anywhere else.
	Store document.Store
	// TTL is how long a session lasts from its last message on; 0 means 30 minutes.
	TTL time.Duration
	// Window is what View cuts the log to. Its zero value cuts nothing.
	Window message.Window
	// Summarizer is what Compact uses; its Window is Config.Window if it has none.
	Summarizer message.Summarizer
	// Engine is the long-term memory; nil means that sessions are forgotten.
	Engine Engine
	// Patience is how long Bootstrap may take; 0 means 2 seconds. OffloadFor is how long one Offload may
	// take, in which no other sweeper tries; 0 means 5 minutes.
	RetryFor, OffloadFor time.Duration
	// Now is the clock; nil means time.Now. Log is told of what an engine fails to do; nil
	// means slog.Default().
	Now func() time.Time
	Log *slog.Logger
}

// Manager creates and ends sessions and gives workers their logs. It has no state: any
// number of workers, in any number of processes, use managers of the same store at once.
type Manager struct{ cfg Config }

// New returns a Manager, or an ErrConfig.
func New(cfg Config) (*Manager, error) {
	switch {
	case cfg.Store == nil:
		return nil, fmt.Errorf("%w: a manager needs a store", ErrConfig)
	case cfg.TTL < 0 || cfg.RetryFor < 0 || cfg.OffloadFor < 0:
		return nil, fmt.Errorf("%w: a time is negative", ErrConfig)
	}
	if _, err := cfg.Window.Fit(nil); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	cfg.TTL = cmp.Or(cfg.TTL, 30*time.Minute)
	cfg.RetryFor = cmp.Or(cfg.RetryFor, 2*time.Second)
	cfg.OffloadFor = cmp.Or(cfg.OffloadFor, 5*time.Minute)
	cfg.Log = cmp.Or(cfg.Log, slog.Default())
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if w := cfg.Summarizer.Window; w.MaxTokens == 0 && w.MaxMessages == 0 {
		cfg.Summarizer.Window = cfg.Window
	}
	return &Manager{cfg}, nil
}

func (m *Manager) now() time.Time { return m.cfg.Now().UTC().Round(0) }

// Get returns a session, ErrEnded if its time is over, or ErrNotFound.
func (m *Manager) Get(ctx context.Context, id string) (Session, error) {
	h, err := m.live(ctx, id)
	if err != nil {
		return Session{}, err
	}
	return h.session(id), nil
}

// guard turns a panic of an engine into an error.
func guard(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v\n%s", ErrPanic, p, debug.Stack())
		}
	}()
	return f()
}

// conflictAt returns the id of the document that somebody else has changed.
func conflictAt(err error) (id string, ok bool) {
	var c *document.ConflictError
	if errors.As(err, &c) {
		return c.ID, true
	}
	return "", false
}
