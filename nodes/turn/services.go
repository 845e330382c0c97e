package turn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"time"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/conversation"
	"github.com/weftrun/weft/conversation/session"
	"github.com/weftrun/weft/conversation/thread"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state/agent"
	"github.com/weftrun/weft/state/message"
)

// Services are what an application stores about its threads outside of their graph. A turn uses
// them when it begins and when it ends. A nil field is not used, and a run without a thread uses
// none of them. [NewServices] returns the default ones.
type Services struct {
	// Threads has the configuration of a thread, which the application sets: enabledTools lists the
	// capabilities that a turn may use, historyLimit is the number of messages that the functions
	// of [Config] get, and model is the name of the model. It also has the state of the
	// application: see [AppState]. A thread without a configuration is not limited.
	Threads *thread.Repository[json.RawMessage]
	// Strategy is when a turn saves the state of the application: with Explicit, the default, after
	// [SaveAppState], with Implicit if it was changed.
	Strategy thread.Strategy
	// Messages gets the messages of the user and the answers, and notifies its sockets. If it
	// fails, the run fails, and goes on with Agent.Continue.
	Messages *conversation.Manager
	// Sessions gets them too, and its view, with a summary, is the history of a turn. If it fails,
	// a warning is logged, and the next turn delivers what is missing. A message that it refuses,
	// such as one above 4 MiB, is in the history while the messages beside it are, and in no
	// summary.
	Sessions *session.Manager
	// User returns the owner of the session of a thread; nil means that it has none.
	User func(thread string) string
	// Background runs work that a turn does not wait for, such as summaries; nil starts a
	// goroutine.
	Background func(work func())
	// Within limits each use of Sessions; 0 is two seconds. Summaries have a minute.
	Within time.Duration
	// Log receives warnings; nil means slog.Default().
	Log *slog.Logger
}

// NewServices returns services that store documents, without sockets, summaries and a long-term
// memory. The stores of sqlite, redis and postgres return their documents:
//
//	docs, err := store.Documents(ctx)
//	services, err := turn.NewServices(docs)
func NewServices(docs document.Store) (*Services, error) {
	messages, err := conversation.NewRepository(docs)
	if err != nil {
		return nil, err
	}
	talk, err := conversation.New(conversation.Config{Repository: messages})
	if err != nil {
		return nil, err
	}
	sessions, err := session.New(session.Config{Store: docs})
	if err != nil {
		return nil, err
	}
	return &Services{Threads: thread.NewRepository[json.RawMessage](docs), Messages: talk, Sessions: sessions}, nil
}

// The names of what the services store in the state of the thread.
const (
	appStateName  = "app_state"
	deliveredName = "session_delivered"
	refusedName   = "session_refused" // the ids of the messages that the session refuses
)

// begin loads what the application stores about the thread, and stores the message of the user.
func (v *Services) begin(ctx context.Context, s *agent.State) error {
	name := graph.Thread(ctx)
	if v == nil || name == "" {
		return nil
	}
	if err := v.load(ctx, s, name); err != nil {
		return err
	}
	if err := v.store(ctx, s, name, message.RoleUser); err != nil {
		return err
	}
	if v.Sessions != nil {
		v.try(ctx, name, "beginning the session", func(ctx context.Context) error { return v.open(ctx, name) })
	}
	return nil
}

// load reads the configuration and the state of the application.
func (v *Services) load(ctx context.Context, s *agent.State, name string) error {
	if v.Threads == nil {
		return nil
	}
	t, err := v.Threads.Thread(ctx, name)
	if errors.Is(err, thread.ErrThreadNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("turn: the configuration of the thread: %w", err)
	}
	set := agent.Settings{Own: map[string]json.RawMessage{}}
	for _, key := range []string{"enabledTools", "historyLimit", "model"} {
		if value, ok, err := t.Config.Value(key); err != nil {
			return fmt.Errorf("turn: the configuration of the thread: %s: %w", key, err)
		} else if ok {
			set.Own[key] = value
		}
	}
	if err := checkConfig(set); err != nil {
		return err
	}
	s.AgentControl.Update(agent.Overlay{}.Reduce(set, s.AgentControl.Get()))
	var a appState
	if t.State != nil && t.State.Data != nil {
		a = appState{Data: *t.State.Data, Stored: *t.State.Data, Version: t.State.Version}
	}
	return agent.Remember(s, appStateName, a)
}

// checkConfig returns an error for a configuration whose values cannot be used.
func checkConfig(set agent.Settings) error {
	_, _, tools := agent.OwnSetting[[]string](set, "enabledTools")
	limit, ok, number := agent.OwnSetting[int](set, "historyLimit")
	_, _, text := agent.OwnSetting[string](set, "model")
	if ok && number == nil && limit < 0 {
		number = fmt.Errorf("historyLimit must not be negative (got %d)", limit)
	}
	if err := errors.Join(tools, number, text); err != nil {
		return fmt.Errorf("turn: the configuration of the thread: %w", err)
	}
	return nil
}

// store adds the last message of a role to the conversation, once.
func (v *Services) store(ctx context.Context, s *agent.State, name string, role message.Role) error {
	m, ok := s.Messages.LastFrom(role)
	if v.Messages == nil || !ok {
		return nil
	}
	_, err := graph.Once(ctx, "conversation "+string(role), func(ctx context.Context) (int, error) {
		added, err := v.Messages.Add(ctx, name, m)
		return len(added), err
	})
	if err != nil {
		return fmt.Errorf("turn: storing a message in the conversation: %w", err)
	}
	return nil
}

// open begins the session of a thread, unless it has one.
func (v *Services) open(ctx context.Context, name string) error {
	_, err := v.Sessions.Get(ctx, name)
	if !errors.Is(err, session.ErrNotFound) {
		return err
	}
	if _, err = v.Sessions.Create(ctx, v.start(name)); errors.Is(err, session.ErrExists) {
		return nil // another worker was faster
	}
	return err
}

// start describes the session of a thread.
func (v *Services) start(name string) session.Start {
	start := session.Start{ID: name}
	if v.User != nil {
		start.User = v.User(name)
	}
	return start
}

// end stores the answer, saves the state of the application and delivers to the session.
func (v *Services) end(ctx context.Context, s *agent.State) error {
	name := graph.Thread(ctx)
	if v == nil || name == "" {
		return nil
	}
	if err := v.store(ctx, s, name, message.RoleAssistant); err != nil {
		return err
	}
	if err := v.save(ctx, s, name); err != nil {
		return err
	}
	if v.Sessions != nil {
		v.try(ctx, name, "delivering to the session", func(ctx context.Context) error { return v.deliver(ctx, s, name) })
		v.summarize(ctx, name)
	}
	return nil
}

// deliver appends the messages of the thread that the session does not have. The state is the
// outbox: it has all messages, and the last one that was delivered.
func (v *Services) deliver(ctx context.Context, s *agent.State, name string) error {
	if err := v.open(ctx, name); err != nil {
		return err
	}
	last, _, err := agent.Recall[string](s, deliveredName)
	if err != nil {
		return err
	}
	for _, m := range undelivered(s.Messages.Slice(), last) {
		switch _, err := v.Sessions.Append(ctx, name, m); {
		case err == nil, errors.Is(err, session.ErrDuplicate):
		case refusesMessage(err):
			v.warn(name, "the session refuses message "+m.ID, err)
			if err := refuse(s, m.ID); err != nil {
				return err
			}
		default:
			return err
		}
		if err := agent.Remember(s, deliveredName, m.ID); err != nil {
			return err
		}
	}
	return nil
}

// refusesMessage reports whether a session refuses a message each time. The message is too large,
// or it is a result whose call the session does not have.
func refusesMessage(err error) bool {
	var invalid *message.InvalidError
	return errors.As(err, &invalid) || errors.Is(err, document.ErrTooLarge) || errors.Is(err, document.ErrValue) || errors.Is(err, document.ErrName)
}

// refuse remembers a message that the session does not have.
func refuse(s *agent.State, id string) error {
	ids, _, err := agent.Recall[[]string](s, refusedName)
	if err != nil || slices.Contains(ids, id) {
		return err
	}
	return agent.Remember(s, refusedName, append(ids, id))
}

// undelivered returns the messages after the one with an id, without those of the system; all if it
// is not there.
func undelivered(ms []message.Message, id string) (rest []message.Message) {
	for i, m := range ms {
		if m.ID == id {
			ms = ms[i+1:]
			break
		}
	}
	for _, m := range ms {
		if m.Role != message.RoleSystem {
			rest = append(rest, m)
		}
	}
	return rest
}

// hasMessage reports whether there is a message with an id.
func hasMessage(ms []message.Message, id string) bool {
	return slices.ContainsFunc(ms, func(m message.Message) bool { return m.ID == id })
}

// summarize lets the session replace its oldest messages by a summary, after the turn.
func (v *Services) summarize(ctx context.Context, name string) {
	ctx = context.WithoutCancel(ctx)
	work := func() {
		ctx, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		_, err := v.Sessions.Compact(ctx, name)
		if err != nil && !errors.Is(err, session.ErrNotFound) && !errors.Is(err, checkpoint.ErrClosed) { // the next turn tries again
			v.warn(name, "summarizing the session failed", err)
		}
	}
	if v.Background != nil {
		v.Background(work)
		return
	}
	go work()
}

// try does something that must not fail the turn.
func (v *Services) try(ctx context.Context, name, what string, do func(context.Context) error) {
	limit := v.Within
	if limit == 0 {
		limit = 2 * time.Second
	}
	inner, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if _, err := safely(func() (struct{}, error) { return struct{}{}, do(inner) }); err != nil {
		v.warn(name, what+" failed", err)
	}
}

func (v *Services) warn(name, text string, err error) {
	log := v.Log
	if log == nil {
		log = slog.Default()
	}
	log.Warn("turn: "+text, "thread", name, "error", err)
}

// history returns the messages of a thread that the functions of Config get: those of the session,
// in which a summary takes the place of the oldest ones, and at most historyLimit of them.
func (t *Turn) history(ctx context.Context, s *agent.State) []message.Message {
	ms := s.Messages.Slice()
	if v, name := t.cfg.Services, graph.Thread(ctx); v != nil && v.Sessions != nil && name != "" {
		// A delivery whose reply was lost is in the session too.
		v.try(ctx, name, "reading the session", func(ctx context.Context) error {
			last, _, err := agent.Recall[string](s, deliveredName)
			if err != nil || last == "" {
				return err
			}
			refused, _, err := agent.Recall[[]string](s, refusedName)
			if err != nil {
				return err
			}
			view, err := v.Sessions.View(ctx, name)
			if err == nil {
				rest := undelivered(ms, last)
				rest = slices.DeleteFunc(rest, func(m message.Message) bool { return hasMessage(view.Messages, m.ID) })
				ms = withRefused(append(slices.Clip(view.Messages), rest...), ms, refused)
			}
			return err
		})
	}
	limit, ok, err := agent.OwnSetting[int](t.settings(s), "historyLimit")
	if ok && err == nil && limit < len(ms) {
		ms = ms[len(ms)-limit:]
		for len(ms) > 0 && ms[0].Role == message.RoleTool {
			ms = ms[1:] // its call is not among them
		}
	}
	return ms
}

// withRefused adds to a history the messages of a thread that its session refuses. A message is
// left out if the history lacks the one before it or the one after it.
func withRefused(history, thread []message.Message, refused []string) []message.Message {
	if len(refused) == 0 {
		return history
	}
	var run []message.Message // refused messages in succession
	had := true               // whether the history has the message before run
	for _, m := range thread {
		at := slices.IndexFunc(history, func(h message.Message) bool { return h.ID == m.ID })
		switch {
		case m.Role == message.RoleSystem:
		case at < 0 && slices.Contains(refused, m.ID):
			run = append(run, m)
		default:
			if had && at >= 0 {
				history = slices.Insert(history, at, run...)
			}
			run, had = nil, at >= 0
		}
	}
	if had {
		history = append(history, run...)
	}
	return history
}

// enabled reports whether the configuration of the thread allows a capability.
func (t *Turn) enabled(s *agent.State, name string) bool {
	tools, ok, err := agent.OwnSetting[[]string](t.settings(s), "enabledTools")
	return err == nil && (!ok || slices.Contains(tools, name))
}

type modelKey struct{}

// withModel adds the name of the model of a thread to the context.
func (t *Turn) withModel(ctx context.Context, s *agent.State) context.Context {
	name, ok, err := agent.OwnSetting[string](t.settings(s), "model")
	if !ok || err != nil || name == "" {
		return ctx
	}
	return context.WithValue(ctx, modelKey{}, name)
}

// named returns a model for requests that name none: they get the model of the thread.
func named(m model.Model) model.Model {
	return model.Func(func(ctx context.Context, r model.Request) iter.Seq2[model.Chunk, error] {
		if name, ok := ctx.Value(modelKey{}).(string); ok && r.Model == "" {
			r.Model = name
		}
		return m.Stream(ctx, r)
	})
}
