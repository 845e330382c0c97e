package turn_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weftrun/weft/capabilities"
	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/checkpoint/postgres"
	"github.com/weftrun/weft/checkpoint/redis"
	"github.com/weftrun/weft/checkpoint/sqlite"
	"github.com/weftrun/weft/conversation"
	"github.com/weftrun/weft/conversation/session"
	"github.com/weftrun/weft/conversation/thread"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/servertest"
	"github.com/weftrun/weft/internal/storetest"
	"github.com/weftrun/weft/nodes/turn"
	"github.com/weftrun/weft/state/agent"
	"github.com/weftrun/weft/state/message"
)

// stored is a store with its documents.
type stored struct {
	checkpoint.Store
	docs document.Store
}

// forEachStore runs a test with every kind of store.
func forEachStore(t *testing.T, test func(t *testing.T, s stored)) {
	t.Parallel()
	t.Run("memory", func(t *testing.T) { test(t, stored{&checkpoint.Memory{}, &document.Map{}}) })
	for name, open := range map[string]func(t *testing.T) (checkpoint.Store, error){
		"sqlite": func(t *testing.T) (checkpoint.Store, error) {
			return sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "s.db"))
		},
		"redis": func(t *testing.T) (checkpoint.Store, error) { return redis.OpenURL(t.Context(), servertest.Redis(t)) },
		"postgres": func(t *testing.T) (checkpoint.Store, error) {
			return postgres.Open(t.Context(), servertest.Postgres(t), postgres.Config{RetryFor: time.Minute})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, err := open(t)
			must(t, err)
			t.Cleanup(func() { must(t, store.(interface{ Close() error }).Close()) })
			docs, err := store.(interface {
				Documents(context.Context) (document.Store, error)
			}).Documents(t.Context())
			must(t, err)
			test(t, stored{store, docs})
		})
	}
}

// notes counts the notifications of a conversation.
type notes struct {
	mu    sync.Mutex
	texts []string
}

func (n *notes) Notify(_ context.Context, notice conversation.Notice) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.texts = append(n.texts, fmt.Sprintf("%s: %s", notice.Message.Role, notice.Message.Text()))
	return nil
}

// assisted is an agent with all services.
type assisted struct {
	*turn.Services
	agent    *turn.Agent[agent.State]
	messages *conversation.Repository
	notes    notes
	logged   strings.Builder
	work     []func() // what Background was given
	seen     [][]string
	models   []string
}

// game is the state of the application.
type game struct {
	Score int `json:"score"`
}

// newAssisted returns an agent whose model answers with the number of the request.
func newAssisted(t *testing.T, s stored, c turn.Config, sessions session.Config) *assisted {
	t.Helper()
	o := &assisted{}
	var err error
	o.messages, err = conversation.NewRepository(s.docs)
	must(t, err)
	talk, err := conversation.New(conversation.Config{Repository: o.messages, Sockets: []conversation.Socket{&o.notes}})
	must(t, err)
	sessions.Store, sessions.Log = s.docs, slog.New(slog.DiscardHandler)
	repo, err := session.New(sessions)
	must(t, err)
	o.Services = &turn.Services{
		Threads: thread.NewRepository[json.RawMessage](s.docs), Messages: talk, Sessions: repo,
		User: func(thread string) string { return "user of " + thread }, Background: func(work func()) { o.work = append(o.work, work) },
		Log: slog.New(slog.NewTextHandler(&o.logged, nil)), Within: time.Minute,
	}
	m := model.ScriptFunc(func(_ context.Context, r model.Request) model.Answer {
		var seen []string
		for _, m := range r.Messages {
			seen = append(seen, m.Text())
		}
		o.seen, o.models = append(o.seen, seen), append(o.models, r.Model)
		return model.Say(fmt.Sprintf("answer %d", len(o.seen)))
	})
	c.Services, c.Manager, c.Answer = o.Services, manager(t), turn.ModelTalk(m)
	g, err := turn.Graph("agent", c, graph.Config{Store: s.Store})
	must(t, err)
	o.agent = turn.NewAgent(g, c.Manager)
	o.agent.Services = o.Services
	return o
}

// say sends a message on the thread t1.
func (o *assisted) say(t *testing.T, text string) turn.Reply[agent.State] {
	t.Helper()
	r, err := o.agent.Say(t.Context(), "t1", text)
	must(t, err)
	return r
}

// configure sets the configuration of the thread t1.
func (o *assisted) configure(t *testing.T, c thread.Config) {
	t.Helper()
	must(t, o.Threads.SetConfig(t.Context(), "t1", c))
}

// talk returns the stored conversation of t1.
func (o *assisted) talk(t *testing.T) (all []string) {
	t.Helper()
	ms, err := o.messages.Get(t.Context(), "t1", conversation.Options{})
	must(t, err)
	for _, m := range ms {
		all = append(all, fmt.Sprintf("%s: %s", m.Role, m.Text()))
	}
	return all
}

// view returns the view of the session of t1.
func (o *assisted) view(t *testing.T) (all []string) {
	t.Helper()
	v, err := o.Sessions.View(t.Context(), "t1")
	must(t, err)
	for _, m := range v.Messages {
		all = append(all, fmt.Sprintf("%s: %s", m.Role, m.Text()))
	}
	return all
}

func none() turn.Config { return turn.Config{} }

func TestServices_StoreTheConversation(t *testing.T) {
	forEachStore(t, func(t *testing.T, s stored) {
		o := newAssisted(t, s, none(), session.Config{})
		o.say(t, "one")
		o.say(t, "two")
		want := []string{"user: one", "assistant: answer 1", "user: two", "assistant: answer 2"}
		sameList(t, "the conversation", o.talk(t), want)
		sameList(t, "the notifications", o.notes.texts, want)
		sameList(t, "the session", o.view(t), want)
		now, err := o.Sessions.Get(t.Context(), "t1")
		must(t, err)
		same(t, "the owner of the session", now.User, "user of t1")
		sameList(t, "what the model got", o.seen[1], []string{"one", "answer 1", "two"})
		same(t, "warnings", o.logged.String(), "")
	})
}

func TestServices_ConfigurationOfTheThread(t *testing.T) {
	forEachStore(t, func(t *testing.T, s stored) {
		c := none()
		c.Capabilities = registry(t, find(), plot())
		o := newAssisted(t, s, c, session.Config{})
		r := o.say(t, "one")
		sameList(t, "the capabilities", r.State.Planning.ActiveCapabilities.Slice(), []string{"respond", "clarify", "find", "plot"})
		o.configure(t, thread.Config{"enabledTools": []string{"find"}, "historyLimit": 1, "model": "small", "theme": "dark"})
		r = o.say(t, "two")
		sameList(t, "the capabilities", r.State.Planning.ActiveCapabilities.Slice(), []string{"respond", "clarify", "find"})
		sameList(t, "what the model got", o.seen[1], []string{"two"})
		sameList(t, "the names of the models", o.models, []string{"", "small"})
		o.configure(t, thread.Config{"enabledTools": []string{}, "historyLimit": 0})
		r = o.say(t, "three")
		sameList(t, "the capabilities", r.State.Planning.ActiveCapabilities.Slice(), []string{"respond", "clarify"})
		same(t, "the number of messages that the model got", len(o.seen[2]), 0)
		o.configure(t, thread.Config{})
		r = o.say(t, "four")
		sameList(t, "the capabilities", r.State.Planning.ActiveCapabilities.Slice(), []string{"respond", "clarify", "find", "plot"})
		same(t, "the number of messages that the model got", len(o.seen[3]), 7)
	})
}

func TestServices_PinnedCapabilityIsNotEnabled(t *testing.T) {
	c := none()
	c.Capabilities = registry(t, find(), plot())
	o := newAssisted(t, stored{&checkpoint.Memory{}, &document.Map{}}, c, session.Config{})
	o.configure(t, thread.Config{"enabledTools": []string{"find"}})
	contains(t, o.say(t, "/pin:plot draw").Text, `"plot" is pinned, and the configuration of the thread does not enable it`)
}

func TestServices_WrongConfiguration(t *testing.T) {
	for name, c := range map[string]thread.Config{
		"enabledTools": {"enabledTools": "find"}, "historyLimit": {"historyLimit": "many"}, "model": {"model": 4},
		"historyLimit must not be negative": {"historyLimit": -1},
	} {
		o := newAssisted(t, stored{&checkpoint.Memory{}, &document.Map{}}, none(), session.Config{})
		o.configure(t, c)
		_, err := o.agent.Say(t.Context(), "t1", "one")
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		contains(t, err.Error(), "the configuration of the thread", name)
		o.configure(t, thread.Config{})
		r, err := o.agent.Continue(t.Context(), "t1")
		must(t, err)
		same(t, "the answer", r.Text, "answer 1")
	}
}

// scorer changes the state of the application in each turn.
func scorer(save bool, by int) capabilities.Capability {
	return capabilities.Func(capabilities.Info{Name: "score", Description: "adds to the score"},
		func(_ context.Context, c *capabilities.Call) error {
			g, _, err := turn.AppState[game](c.State)
			if err != nil {
				return err
			}
			g.Score += by
			if err := turn.SetAppState(c.State, g); err != nil || !save {
				return err
			}
			return turn.SaveAppState(c.State)
		})
}

func TestServices_StateOfTheApplication(t *testing.T) {
	forEachStore(t, func(t *testing.T, s stored) {
		for name, test := range map[string]struct {
			strategy thread.Strategy
			save     bool
			by       int
			versions []uint64 // after each turn
		}{
			"explicit, and saved":     {thread.Explicit, true, 2, []uint64{2, 3}},
			"explicit, and not saved": {thread.Explicit, false, 2, []uint64{1, 1}},
			"implicit":                {thread.Implicit, false, 2, []uint64{2, 3}},
			"implicit and unchanged":  {thread.Implicit, false, 0, []uint64{1, 1}},
		} {
			t.Run(name, func(t *testing.T) {
				c := none()
				c.Capabilities = registry(t, scorer(test.save, test.by))
				o := newAssisted(t, s, c, session.Config{})
				o.Strategy = test.strategy
				id := strings.ReplaceAll(name, ",", "")
				first := json.RawMessage(`{"score":10}`)
				must(t, o.Threads.SetConfig(t.Context(), id, thread.Config{}))
				_, err := o.Threads.SetState(t.Context(), id, &thread.State[json.RawMessage]{Data: &first, Version: 1})
				must(t, err)
				for i, version := range test.versions {
					_, err := o.agent.Say(t.Context(), id, "go")
					must(t, err)
					got, err := o.Threads.State(t.Context(), id)
					must(t, err)
					same(t, fmt.Sprintf("version after turn %d", i+1), got.Version, version)
					same(t, "state", string(*got.Data), fmt.Sprintf(`{"score":%d}`, 10+test.by*int(version-1)))
				}
			})
		}
	})
}

// failing is a long-term memory and a summarizer that fail.
type failing struct{}

func (failing) Offload(context.Context, session.Ended) error { return errors.New("the memory is down") }

func (failing) Bootstrap(context.Context, string) (string, error) { panic("the memory is broken") }

func TestServices_FailingSessionsDoNotFailTheTurn(t *testing.T) {
	forEachStore(t, func(t *testing.T, s stored) {
		wrong := errors.New("no summary")
		o := newAssisted(t, s, none(), session.Config{Engine: failing{}, Summarizer: message.Summarizer{
			Window: message.Window{MaxMessages: 2}, Write: func(context.Context, []message.Message) (string, error) { return "", wrong },
		}})
		for i, text := range []string{"one", "two", "three"} {
			same(t, "the answer", o.say(t, text).Text, fmt.Sprintf("answer %d", i+1))
			for _, work := range o.work {
				work()
			}
			o.work = nil
		}
		contains(t, o.logged.String(), "summarizing the session failed", "no summary", "thread=t1")
		same(t, "messages of the session", len(o.view(t)), 6)
	})
}

func TestServices_SummaryInTheHistory(t *testing.T) {
	forEachStore(t, func(t *testing.T, s stored) {
		o := newAssisted(t, s, none(), session.Config{Summarizer: message.Summarizer{
			Window: message.Window{MaxMessages: 3}, KeepMessages: 2,
			Write: func(_ context.Context, ms []message.Message) (string, error) {
				return fmt.Sprintf("summary of %d", len(ms)), nil
			},
		}})
		for _, text := range []string{"one", "two"} {
			o.say(t, text)
		}
		for _, work := range o.work {
			work()
		}
		o.say(t, "three")
		contains(t, strings.Join(o.seen[2], "; "), "summary of 2; two; answer 2; three")
		same(t, "messages of the thread", len(o.talk(t)), 6)
		same(t, "warnings", o.logged.String(), "")
	})
}

// broken fails Query and Batch of the sessions.
type broken struct {
	document.Store
	down *bool
}

func (b broken) Batch(ctx context.Context, p document.Place, c []document.Change) ([]document.Doc, error) {
	if *b.down {
		return nil, checkpoint.ErrUnavailable
	}
	return b.Store.Batch(ctx, p, c)
}

func TestServices_TheNextTurnDeliversWhatIsMissing(t *testing.T) {
	forEachStore(t, func(t *testing.T, s stored) {
		down := false
		o := newAssisted(t, s, none(), session.Config{})
		repo, err := session.New(session.Config{Store: broken{s.docs, &down}, Log: slog.New(slog.DiscardHandler)})
		must(t, err)
		o.Sessions = repo
		o.say(t, "one")
		down = true
		same(t, "the answer", o.say(t, "two").Text, "answer 2")
		contains(t, o.logged.String(), "delivering to the session failed")
		down = false
		o.say(t, "three")
		sameList(t, "the session", o.view(t), o.talk(t))
	})
}

func TestServices_SummarizeInAGoroutineByDefault(t *testing.T) {
	written := make(chan bool)
	first := sync.OnceFunc(func() { close(written) }) // both turns may find the view too long
	o := newAssisted(t, stored{&checkpoint.Memory{}, &document.Map{}}, none(), session.Config{Summarizer: message.Summarizer{
		Window: message.Window{MaxMessages: 3}, KeepMessages: 2,
		Write: func(context.Context, []message.Message) (string, error) { first(); return "summary", nil },
	}})
	o.Background = nil
	o.say(t, "one")
	o.say(t, "two")
	<-written
}

// Each write of a turn fails once, before or after it is done.
func TestServices_StoreNothingTwiceAfterACrash(t *testing.T) {
	forEachStore(t, func(t *testing.T, s stored) {
		c := none()
		c.Capabilities = registry(t, scorer(true, 1))
		for _, done := range []bool{false, true} {
			for at, failed := 1, true; failed; at++ {
				id := fmt.Sprintf("%v %d", done, at)
				flaky := &storetest.FailingStore{Store: s.Store, At: map[int]bool{at: done}}
				o := newAssisted(t, stored{flaky, s.docs}, c, session.Config{})
				_, err := o.agent.Say(t.Context(), id, "go")
				failed = err != nil
				for tries := 0; err != nil; tries++ {
					if !errors.Is(err, storetest.ErrDisk) || tries > 3 {
						t.Fatalf("%s: %v", id, err)
					}
					if _, err = o.agent.Continue(t.Context(), id); errors.Is(err, graph.ErrUnknownThread) {
						_, err = o.agent.Say(t.Context(), id, "go") // the input was not stored
					}
				}
				ms, err := o.messages.Get(t.Context(), id, conversation.Options{})
				must(t, err)
				log, err := o.Sessions.Log(t.Context(), id)
				must(t, err)
				got, err := o.Threads.State(t.Context(), id)
				must(t, err)
				if len(ms) != 2 || len(log) != 2 || got.Version != 1 || string(*got.Data) != `{"score":1}` {
					t.Errorf("write %s: %d messages, %d in the session, state %d: %s", id, len(ms), len(log), got.Version, *got.Data)
				}
			}
		}
	})
}

func TestAgent_Reset(t *testing.T) {
	forEachStore(t, func(t *testing.T, s stored) {
		c := none()
		c.Capabilities = registry(t, find(), scorer(true, 1))
		o := newAssisted(t, s, c, session.Config{})
		same(t, "an unknown thread", o.say(t, "/reset").Text, "The conversation is empty.")
		o.say(t, "one")
		o.say(t, "/planning!:on")
		same(t, "the plan is shown", o.say(t, "two").Status, graph.Interrupted)
		old, err := o.Sessions.Get(t.Context(), "t1")
		must(t, err)
		r := o.say(t, "/reset")
		same(t, "kind", r.Kind, turn.NoRun)
		h, err := o.agent.Untyped().History(t.Context(), "t1", 10)
		must(t, err)
		same(t, "messages", len(h.Messages), 0)
		same(t, "questions", len(h.Questions), 0)
		again, err := o.Sessions.Get(t.Context(), "t1")
		must(t, err)
		same(t, "another session", again.Created != old.Created, true)
		same(t, "its owner", again.User, old.User)
		same(t, "messages of the session", len(o.view(t)), 0)
		same(t, "messages of the conversation", len(o.talk(t)) > 0, true)
		o.say(t, "/planning!:off")
		r = o.say(t, "three")
		same(t, "contexts", len(r.State.Context.Keys("RAIN")), 1)
		sameList(t, "what the model got", o.seen[len(o.seen)-1], []string{"three"})
		g, ok, err := turn.AppState[game](&r.State)
		must(t, err)
		same(t, "the state of the application", fmt.Sprint(g, ok), "{2} true")
		for _, text := range []string{"/reset and more", "/planning:on /reset"} {
			_, err := o.agent.Say(t.Context(), "t1", text)
			contains(t, fmt.Sprint(err), "/reset must be a message of its own")
		}
	})
}
