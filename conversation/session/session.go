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

// Engine is the long-term memory of sessions. Its failures never block a session: they are logged,
// and an Offload is retried.
type Engine interface {
	// Offload stores a session that has ended. After a crash or a lost reply it is called again
	// with the same Ended.Key, and must then not store the session twice.
	Offload(ctx context.Context, e Ended) error
	// Bootstrap returns a short text about a user for the system prompt; "" if nothing is known.
	Bootstrap(ctx context.Context, user string) (string, error)
}

// Ended is a session that has ended, with its whole log.
type Ended struct {
	// Key is unique to this generation of the session. An engine uses it as idempotency key.
	Key      string
	ID       string
	User     string
	Reason   Reason
	Created  time.Time
	Ended    time.Time
	Messages []message.Message // the whole log, oldest first
}

// Reason is why a session ended.
type Reason string

const (
	ReasonEnd     Reason = "end"     // End
	ReasonReset   Reason = "reset"   // Reset
	ReasonTimeout Reason = "timeout" // nothing was appended for Config.TTL
)

// Session describes an active session.
type Session struct {
	ID       string
	User     string
	Created  time.Time
	Deadline time.Time // the session ends then, unless messages are appended before
	Messages int       // in the log
	Tokens   int       // of the log, by Config.Window.Counter
	// Unanswered are the ids of calls without a result.
	Unanswered []string
	Version    uint64 // grows with every change
}

// Config configures a Manager. All managers of a store should have the same configuration.
type Config struct {
	// Store has the sessions. They are stored nowhere else.
	Store document.Store
	// TTL is the time from the last message to the end of a session; 0 means 30 minutes.
	TTL time.Duration
	// Window limits the view of the log. The zero value does not limit it.
	Window message.Window
	// Summarizer is used by Compact. Its Window is Config.Window if it has none.
	Summarizer message.Summarizer
	// Engine is the long-term memory; nil means that ended sessions are only removed.
	Engine Engine
	// RetryFor is the time limit of Bootstrap; 0 means 2 seconds. OffloadFor is the time limit of
	// one Offload; no other sweeper calls Offload for the session until then; 0 means 5 minutes.
	RetryFor, OffloadFor time.Duration
	// Now is the clock; nil means time.Now. Log receives the failures of the engine; nil means
	// slog.Default().
	Now func() time.Time
	Log *slog.Logger
}

// Manager creates, reads and ends sessions. It has no state: workers in any number of processes may
// use managers of the same store concurrently.
type Manager struct{ cfg Config }

// New returns a Manager, or an ErrConfig.
func New(cfg Config) (*Manager, error) {
	switch {
	case cfg.Store == nil:
		return nil, fmt.Errorf("%w: a manager needs a store", ErrConfig)
	case cfg.TTL < 0 || cfg.RetryFor < 0 || cfg.OffloadFor < 0:
		return nil, fmt.Errorf("%w: TTL, RetryFor and OffloadFor must not be negative", ErrConfig)
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

// Get returns a session, or ErrEnded or ErrNotFound.
func (m *Manager) Get(ctx context.Context, id string) (Session, error) {
	h, err := m.live(ctx, id)
	if err != nil {
		return Session{}, err
	}
	return h.session(id), nil
}

// guard converts a panic of an engine into an error.
func guard(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v\n%s", ErrPanic, p, debug.Stack())
		}
	}()
	return f()
}

// conflictAt returns the id of the document that another writer changed.
func conflictAt(err error) (id string, ok bool) {
	var c *document.ConflictError
	if errors.As(err, &c) {
		return c.ID, true
	}
	return "", false
}
