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
	// Explicit saves what is given to SetState, and nothing else. It is the default.
	Explicit Strategy = "explicit"
	// Implicit keeps loaded threads for the session, and saves those that were edited.
	Implicit Strategy = "implicit"
)

// Options say how a Manager works. The zero Options are usual.
type Options struct {
	Strategy Strategy     // "" means Explicit
	Logger   *slog.Logger // of warnings; nil means slog.Default()
}

// Manager is the way of applications and agents to the records of threads. It is safe for
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
		return nil, fmt.Errorf("%w: there is no repository", ErrOptions)
	case m.strategy != Explicit && m.strategy != Implicit:
		return nil, fmt.Errorf("%w: the strategy %.32q is neither %s nor %s", ErrOptions, m.strategy, Explicit, Implicit)
	}
	return m, nil
}

// SetConfig sets the configuration of a thread, for an application, before a run.
func (m *Manager[S]) SetConfig(ctx context.Context, thread string, c Config) error {
	return m.Begin().SetConfig(ctx, thread, c)
}

// Begin starts a session, for one run. [Manager.Run] also ends it.
func (m *Manager[S]) Begin() *Session[S] {
	return &Session[S]{Manager: m, loaded: map[string]*entry[S]{}}
}

// Run calls f with a session of its own and ends it, also when f fails or panics. Where f succeeds,
// an error to save the states is returned, as an ErrStateSave. Where f fails or panics, its error or
// panic is the result, and an error to save the states is logged. No error is both.
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

// errStateSave adds to an error that a state was not saved.
func errStateSave(err error) error {
	if err == nil || errors.Is(err, ErrStateSave) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrStateSave, err)
}
