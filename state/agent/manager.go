package agent

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/state/message"
)

// StateManager reads and writes the state of an agent: it begins a turn, and stores and loads
// contexts. It does no I/O and holds no state. Its writes go to the view of the caller, so the
// runtime discards them if the node fails. The zero StateManager works: it has no types, no clock,
// no ids and the built-in settings. A StateManager is safe for concurrent use if its functions are.
type StateManager struct {
	// Types is the registry of context types. nil accepts all types, with a warning.
	Types *Types
	// Config returns the default settings. SafeSettings provides those that are nil. A nil Config
	// means SafeSettings.
	Config func() (Settings, error)
	// Clock returns the time; nil leaves times unset.
	Clock func() time.Time
	// NewID returns a new message id; nil leaves ids to the log.
	NewID func() string
	// Run is the id of the run, for the metadata of contexts.
	Run string
	// Warn receives errors that do not stop the work, such as a failed configuration. nil logs them
	// with slog.Default().
	Warn func(error)
}

func (m StateManager) now() (t time.Time) {
	if m.Clock != nil {
		t = m.Clock().Round(0)
	}
	return t
}

func (m StateManager) warn(err error) {
	if m.Warn == nil {
		slog.Default().Warn("agent: continuing after an error", "error", err)
		return
	}
	m.Warn(err)
}

// stamp returns t, or the time now if t is zero.
func (m StateManager) stamp(t time.Time) time.Time {
	if t.IsZero() {
		return m.now()
	}
	return t
}

// newMessage returns msg with the time and an id.
func (m StateManager) newMessage(msg message.Message) message.Message {
	msg.Created = m.now()
	if m.NewID != nil {
		msg.ID = m.NewID()
	}
	return msg
}

// CreateFresh returns the state at the beginning of a turn, as an input of a run. It holds one user
// message, the effective settings, and the contexts of prior, which may be nil. The result shares
// no mutable memory with prior. For an existing thread, the input is equivalent to the message
// alone. The run rejects an empty message.
func (m StateManager) CreateFresh(input string, prior *State) (s State) {
	s.Messages = message.LogOf(m.newMessage(message.User(input)))
	settings := m.Defaults()
	if prior != nil {
		settings = settings.under(prior.SessionControl.Get())
		s.Context.Merge(prior.Context)
	}
	s.AgentControl.Update(settings)
	return s
}

// Defaults returns the built-in settings overlaid with the configured ones. If the configuration
// fails or is invalid, it warns and returns the built-in settings.
func (m StateManager) Defaults() Settings {
	if m.Config == nil {
		return SafeSettings()
	}
	c, err := m.Config()
	if err == nil {
		err = c.Validate()
	}
	if err != nil {
		m.warn(fmt.Errorf("%w: %w", ErrConfig, err))
		return SafeSettings()
	}
	return Overlay{}.Reduce(SafeSettings(), c)
}

// Settings returns the effective settings. If the turn began with a complete set, as
// [StateManager.TurnSettings] and [StateManager.CreateFresh] return, it uses that set and ignores
// the current configuration; the settings of the thread may still lower limits. Otherwise it
// overlays the defaults, the thread's settings and the turn's settings.
func (m StateManager) Settings(s *State) Settings {
	turn := s.AgentControl.Get()
	if turn.whole() {
		return s.SessionControl.Get().under(turn)
	}
	return m.Defaults().under(s.SessionControl.Get()).under(turn)
}

// TurnSettings returns the complete settings of a new turn: the defaults, those of the thread and
// those of the turn. Store them in AgentControl when the turn begins. A process with another
// configuration that resumes the turn then uses the same settings.
func (m StateManager) TurnSettings(thread, turn Settings) Settings {
	return m.Defaults().under(thread).under(turn)
}

// Respond adds a message of the assistant to the conversation.
func (m StateManager) Respond(s *State, text string) error {
	return s.Messages.Add(m.newMessage(message.Assistant(text)))
}

// Steps returns access to the steps of the plan of s and to their results.
func (m StateManager) Steps(s *State) Steps { return Steps{m, s} }

// Display returns access to what a user sees of the work on s, such as figures and status messages.
func (m StateManager) Display(s *State) Display { return Display{m, s} }

// LoadContexts returns typed access to the contexts of s. It observes later writes to s.
func (m StateManager) LoadContexts(s *State) *Contexts {
	return &Contexts{m, s, &s.Context, map[state.ContextRef]decoded{}}
}

// LoadContext returns the context of a type under a key. The error is a [*NotFoundError], an
// [*UnknownTypeError] or a [*CorruptError]. [Get] returns a context as its Go type.
func (m StateManager) LoadContext(s *State, typ, key string) (Context, error) {
	return m.LoadContexts(s).Lookup(typ, key)
}

// StoreContext stores v under a type and a key and replaces any existing entry. It writes only this
// entry of s. The metadata has the objective and the capability of the current step, if there is
// one. The error is an [*UnknownTypeError], or wraps ErrWrongType or state.ErrContextName. On an
// error nothing is written.
func (m StateManager) StoreContext(s *State, typ, key string, v Context) error {
	step, _ := s.Planning.CurrentStep()
	return m.store(s, step, typ, key, v)
}

// StoreOutput stores v under its own type and the context key of a step.
func (m StateManager) StoreOutput(s *State, step Step, v Context) error {
	if v == nil {
		return fmt.Errorf("%w: nil", ErrWrongType)
	}
	return m.store(s, step, v.ContextType(), step.ContextKey, v)
}

func (m StateManager) store(s *State, step Step, typ, key string, v Context) error {
	if m.Types == nil {
		m.warn(ErrNoTypes)
	} else if err := m.Types.check(typ, v); err != nil {
		return err
	}
	fields, err := fieldsOf(v)
	if err != nil {
		return fmt.Errorf("agent: %s.%s cannot be stored: %w", typ, key, err)
	}
	return s.Context.Put(typ, key, state.ContextEntry{Fields: fields, Meta: state.ContextMeta{
		Objective: step.Objective, Capability: step.Capability, Time: m.now(), Run: m.Run,
	}})
}
