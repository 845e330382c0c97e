package agent

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/state/message"
)

// Manager reads and writes the state of an agent. It does no I/O and holds no state; what it
// writes are writes to the view it was given, so they come to nothing when their node fails.
// The zero Manager works: it knows no types, stamps no times, makes no ids and has the built-in settings.
// It is safe for concurrent use where its functions are.
type Manager struct {
	// Types are the types of context. nil accepts all, with a warning.
	Types *Types
	// Config returns the default settings; what they leave open is as in SafeSettings. nil
	// is SafeSettings alone.
	Config func() (Settings, error)
	// Clock is what the time is; nil stamps nothing.
	Clock func() time.Time
	// NewID makes the ids of messages; nil leaves them to the log.
	NewID func() string
	// Run is the id of the run, for the meta of contexts.
	Run string
	// Warn is told what does not stop the work, such as a configuration that fails; nil logs it with
	// slog.Default().
	Warn func(error)
}

func (m Manager) now() (t time.Time) {
	if m.Clock != nil {
		t = m.Clock().Round(0)
	}
	return t
}

func (m Manager) warn(err error) {
	if m.Warn == nil {
		slog.Default().Warn("agent: the work goes on without what failed", "error", err)
		return
	}
	m.Warn(err)
}

func (m Manager) stamped(msg message.Message) message.Message {
	msg.Created = m.now()
	if m.NewID != nil {
		msg.ID = m.NewID()
	}
	return msg
}

// CreateFresh returns the state at the beginning of a turn, as an input of a run: one message
// of the user, the settings in force, the contexts of prior, and nothing else. prior may be
// nil; it shares nothing with the result that could be changed. To run a thread on with it comes to the
// same as to run it on with the message alone. An input that says nothing is refused by the run.
func (m Manager) CreateFresh(input string, prior *State) (s State) {
	s.Messages = message.LogOf(m.stamped(message.User(input)))
	settings := m.Defaults()
	if prior != nil {
		settings = settings.under(prior.SessionControl.Get())
		s.Context.Merge(prior.Context)
	}
	s.AgentControl.Update(settings)
	return s
}

// Defaults returns the configured settings on top of the built-in ones. Where the
// configuration fails or makes no sense the built-in ones stand, with a warning.
func (m Manager) Defaults() Settings {
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

// Settings returns the settings in force. Where the turn has begun with all of them, as [Manager.TurnSettings]
// and [Manager.CreateFresh] make them, they are those, whatever the configuration is now; the thread's may
// lower their limits. Otherwise they are the defaults, those of the thread and those of the turn.
func (m Manager) Settings(s *State) Settings {
	turn := s.AgentControl.Get()
	if turn.whole() {
		return s.SessionControl.Get().under(turn)
	}
	return m.Defaults().under(s.SessionControl.Get()).under(turn)
}

// TurnSettings returns all settings of a turn that begins: defaults, those of the thread and those given for
// the turn. They are stored in AgentControl when it begins, so that another configuration, in a process that
// resumes it, does not change them.
func (m Manager) TurnSettings(thread, turn Settings) Settings {
	return m.Defaults().under(thread).under(turn)
}

// CurrentTask returns the task of the turn; ok is false before there is one.
func (m Manager) CurrentTask(s *State) (task string, ok bool) { return s.Task.Current.Lookup() }

// UserQuery returns the latest message of the user; ok is false where there is none.
func (m Manager) UserQuery(s *State) (text string, ok bool) {
	msg, ok := s.Messages.LastFrom(message.RoleUser)
	return msg.Text(), ok
}

// ResponseUpdate adds a message of the assistant to the conversation.
func (m Manager) ResponseUpdate(s *State, text string) error {
	return s.Messages.Add(m.stamped(message.Assistant(text)))
}

// Plan returns the plan; ok is false where there is none or it has no steps.
func (m Manager) Plan(s *State) (p Plan, ok bool) {
	p = s.Planning.ExecutionPlan.Get()
	return p, len(p.Steps) > 0
}

// StepIndex returns the index of the current step, from 0.
func (m Manager) StepIndex(s *State) int { return s.Planning.CurrentStepIndex.Get() }

// CurrentStep returns the step to be done now. The error wraps ErrNoPlan or ErrStepIndex.
func (m Manager) CurrentStep(s *State) (Step, error) {
	return m.StepAt(s, m.StepIndex(s))
}

// Contexts returns typed access to the contexts of s: the writes that s makes show in it.
func (m Manager) Contexts(s *State) *Contexts {
	return &Contexts{m, s, &s.Context, map[state.ContextRef]decoded{}}
}

// StoreContext puts v under a type and a key. It writes that one entry and nothing else of s; an
// entry that was there is replaced. The current step, where there is one, gives the objective and the
// capability in its meta. The error is an [*UnknownTypeError], or wraps ErrWrongType or
// state.ErrContextName; then nothing was written.
func (m Manager) StoreContext(s *State, typ, key string, v Context) error {
	step, _ := m.CurrentStep(s)
	return m.store(s, step, typ, key, v)
}

// StoreOutput puts v under its own type and the context key of a step.
func (m Manager) StoreOutput(s *State, step Step, v Context) error {
	if v == nil {
		return fmt.Errorf("%w: nil", ErrWrongType)
	}
	return m.store(s, step, v.ContextType(), step.ContextKey, v)
}

func (m Manager) store(s *State, step Step, typ, key string, v Context) error {
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
