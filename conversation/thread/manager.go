package thread

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
)

// Strategy is how a session saves states.
type Strategy string

const (
	// Explicit saves a state only by SetState. It is the default.
	Explicit Strategy = "explicit"
	// Implicit caches the threads that a session loads, and saves the edited ones.
	Implicit Strategy = "implicit"
)

// Options configures a Manager. The zero value is valid.
type Options struct {
	Strategy Strategy     // "" means Explicit
	Logger   *slog.Logger // receives warnings; nil means slog.Default()
}

// Manager reads and writes the records of threads, for applications and agents. It is safe for
// concurrent use.
type Manager[S any] struct {
	repo     *Repository[S]
	strategy Strategy
	log      *slog.Logger
}

// NewManager returns a Manager, or an ErrOptions.
func NewManager[S any](repo *Repository[S], o Options) (*Manager[S], error) {
	m := &Manager[S]{repo, o.Strategy, o.Logger}
	if m.strategy == "" {
		m.strategy = Explicit
	}
	if m.log == nil {
		m.log = slog.Default()
	}
	switch {
	case repo == nil || repo.docs == nil:
		return nil, fmt.Errorf("%w: the repository must not be nil", ErrOptions)
	case m.strategy != Explicit && m.strategy != Implicit:
		return nil, fmt.Errorf("%w: the strategy %.32q is neither %s nor %s", ErrOptions, m.strategy, Explicit, Implicit)
	}
	return m, nil
}

// SetConfig sets the configuration of a thread. An application calls it before a run.
func (m *Manager[S]) SetConfig(ctx context.Context, thread string, c Config) error {
	return m.Begin().SetConfig(ctx, thread, c)
}

// Begin starts a session, for one run. [Manager.Run] also ends it.
func (m *Manager[S]) Begin() *Session[S] {
	return &Session[S]{Manager: m, loaded: map[string]*entry[S]{}}
}

// Run calls f with a new session and ends the session, also when f fails or panics. If f succeeds,
// Run returns an error of saving the states, as an ErrStateSave. If f fails or panics, Run returns
// its error or panics again, and logs an error of saving the states.
func (m *Manager[S]) Run(ctx context.Context, f func(s *Session[S]) error) (err error) {
	s := m.Begin()
	succeeded := false
	defer func() {
		saved := s.End(context.WithoutCancel(ctx))
		switch {
		case saved == nil:
		case succeeded:
			err = saved
		default:
			m.log.WarnContext(ctx, "thread: states were not saved at the end of a run", "error", saved)
		}
	}()
	err = f(s)
	succeeded = err == nil
	return err
}

// errStateSave wraps an error with ErrStateSave.
func errStateSave(err error) error {
	if err == nil || errors.Is(err, ErrStateSave) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrStateSave, err)
}
