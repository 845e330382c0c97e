package servicetest

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/conversation"
	"github.com/weftrun/weft/conversation/session"
	"github.com/weftrun/weft/conversation/tasks"
	"github.com/weftrun/weft/conversation/thread"
	"github.com/weftrun/weft/state/message"
)

// Run takes a conversation, a session, a thread and a task through their main paths. The store must
// be empty.
func Run(t *testing.T, docs document.Store) {
	t.Run("conversation", func(t *testing.T) { testConversation(t, docs) })
	t.Run("session", func(t *testing.T) { testSession(t, docs) })
	t.Run("thread", func(t *testing.T) { testThread(t, docs) })
	t.Run("task", func(t *testing.T) { testTask(t, docs) })
}

// check ends the test if an error is not nil.
func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantTexts(t *testing.T, what string, ms []message.Message, want ...string) {
	t.Helper()
	if got := textsOf(ms); !slices.Equal(got, want) {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

func textsOf(ms []message.Message) (list []string) {
	for _, m := range ms {
		list = append(list, m.Text())
	}
	return list
}

func testConversation(t *testing.T, docs document.Store) {
	ctx := t.Context()
	repo, err := conversation.NewRepository(docs)
	check(t, err)
	m, err := conversation.New(conversation.Config{Repository: repo})
	check(t, err)
	for _, q := range []string{"one", "two", "three"} {
		_, err := m.Exchange(ctx, "t", message.User(q), func(context.Context, []message.Message) (message.Message, error) {
			return message.Assistant("to " + q), nil
		})
		check(t, err)
	}
	last, err := m.Get(ctx, "t", conversation.Options{Limit: new(3)})
	check(t, err)
	wantTexts(t, "the newest messages", last, "to two", "three", "to three")
	users, err := m.Get(ctx, "t", conversation.Options{Limit: new(2), Roles: []message.Role{message.RoleUser}})
	check(t, err)
	wantTexts(t, "the newest messages of the user", users, "two", "three")
	page, err := m.Page(ctx, "t", conversation.Options{Limit: new(2)})
	check(t, err)
	page, err = m.Page(ctx, "t", conversation.Options{Limit: new(2), OlderThan: &page.Cursors[0]})
	check(t, err)
	wantTexts(t, "the second page", page.Messages, "two", "to two")
	check(t, repo.Delete(ctx, "t"))
	none, err := m.Get(ctx, "t", conversation.Options{})
	check(t, err)
	wantTexts(t, "a deleted thread", none)
}

// longTerm records the sessions that it is given.
type longTerm struct{ ended []session.Ended }

func (l *longTerm) Offload(_ context.Context, s session.Ended) error {
	l.ended = append(l.ended, s)
	return nil
}

func (l *longTerm) Bootstrap(context.Context, string) (string, error) { return "", nil }

func testSession(t *testing.T, docs document.Store) {
	ctx := t.Context()
	engine := &longTerm{}
	m, err := session.New(session.Config{Store: docs, TTL: time.Hour, Engine: engine, Window: message.Window{MaxMessages: 3}})
	check(t, err)
	_, err = m.Create(ctx, session.Start{ID: "s", User: "ada", System: "Be brief."})
	check(t, err)
	_, err = m.Append(ctx, "s", message.User("q1"), message.Assistant("a1"), message.User("q2"))
	check(t, err)
	_, err = m.Turn(ctx, "s", func(_ context.Context, view message.Fitted) ([]message.Message, error) {
		wantTexts(t, "the view", view.Messages, "Be brief.", "a1", "q2")
		return []message.Message{message.Assistant("a2")}, nil
	})
	check(t, err)
	log, err := m.Log(ctx, "s")
	check(t, err)
	wantTexts(t, "the log", log, "Be brief.", "q1", "a1", "q2", "a2")
	list, err := m.Sessions(ctx, "ada")
	check(t, err)
	if len(list) != 1 || list[0].ID != "s" {
		t.Errorf("got the sessions %+v, want one session s", list)
	}
	check(t, m.End(ctx, "s"))
	_, err = (&session.Sweeper{Manager: m}).Sweep(ctx)
	check(t, err)
	if len(engine.ended) != 1 {
		t.Fatalf("got %d sessions offloaded, want 1", len(engine.ended))
	}
	wantTexts(t, "the offloaded session", engine.ended[0].Messages, "Be brief.", "q1", "a1", "q2", "a2")
	if _, err := m.Get(ctx, "s"); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("got %v for a session that ended, want %v", err, session.ErrNotFound)
	}
}

func testThread(t *testing.T, docs document.Store) {
	ctx := t.Context()
	type game struct{ Room string }
	m, err := thread.NewManager(thread.NewRepository[game](docs), thread.Options{Strategy: thread.Implicit})
	check(t, err)
	check(t, m.SetConfig(ctx, "t", thread.Config{"enabledTools": []string{"dice"}}))
	check(t, m.Run(ctx, func(s *thread.Session[game]) error {
		th, err := s.Load(ctx, "t")
		if err != nil {
			return err
		}
		if err := s.Init(ctx, th, func() game { return game{"hall"} }); err != nil {
			return err
		}
		th.State.Data.Room = "cellar" // the run saves it at its end
		return s.EnableTools(ctx, "t", "map")
	}))
	s := m.Begin()
	th, err := s.Load(ctx, "t")
	check(t, err)
	if th.State.Data.Room != "cellar" || th.State.Version != 2 || !s.IsToolEnabled(ctx, "t", "map") {
		t.Errorf("got %+v with %v, want the room cellar, version 2 and the tool map", th.State, th.Config)
	}
	if err := m.Begin().SetState(ctx, "t", &thread.State[game]{Data: &game{"roof"}, Version: 2}); !errors.Is(err, thread.ErrConflict) {
		t.Errorf("got %v for a save from an old version, want %v", err, thread.ErrConflict)
	}
}

func testTask(t *testing.T, docs document.Store) {
	ctx := t.Context()
	b, other := tasks.NewBoard(docs), tasks.NewBoard(docs)
	_, err := b.Create(ctx, tasks.Task{ID: "a", Target: "poet", Priority: -3})
	check(t, err)
	if _, err := other.Create(ctx, tasks.Task{ID: "a"}); !errors.Is(err, tasks.ErrExists) {
		t.Errorf("got %v for an id that exists, want %v", err, tasks.ErrExists)
	}
	poet := tasks.WorkerFunc(func(_ context.Context, t tasks.Task) (tasks.Outcome, error) {
		if t.Answer == nil {
			return tasks.Outcome{Status: tasks.Waiting, Question: json.RawMessage(`"rhyme?"`)}, nil
		}
		return tasks.Outcome{Result: t.Answer}, nil
	})
	_, err = b.Run(ctx, "a", poet)
	check(t, err)
	waiting, err := other.List(ctx, tasks.Query{Target: "poet", Status: []tasks.Status{tasks.Waiting}})
	check(t, err)
	if len(waiting) != 1 || waiting[0].Priority != -3 || string(waiting[0].Question) != `"rhyme?"` {
		t.Errorf("got the waiting tasks %+v, want task a with its question", waiting)
	}
	done, err := other.Resume(ctx, "a", json.RawMessage(`"yes"`), poet)
	check(t, err)
	if done.Status != tasks.Completed || string(done.Result) != `"yes"` {
		t.Errorf("got %s with %s, want completed with the answer", done.Status, done.Result)
	}
	if _, err := b.Run(ctx, "a", poet); !errors.Is(err, tasks.ErrTransition) || !strings.Contains(err.Error(), "completed") {
		t.Errorf("got %v for a task that ended, want %v", err, tasks.ErrTransition)
	}
	check(t, b.Delete(ctx, "a"))
}
