package conversation_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/checkpoint/topic"
	"github.com/weftrun/weft/conversation"
	"github.com/weftrun/weft/state/message"
)

// spyRepository is a repository that records its calls.
type spyRepository struct {
	calls []string
	ms    []message.Message
	fail  error
}

func (k *spyRepository) Add(_ context.Context, thread string, ms ...message.Message) ([]message.Message, error) {
	k.calls = append(k.calls, fmt.Sprint("add ", thread, " ", texts(ms)))
	if k.fail != nil {
		return nil, k.fail
	}
	k.ms = append(k.ms, ms...)
	return ms, nil
}

func (k *spyRepository) Get(_ context.Context, thread string, o conversation.Options) ([]message.Message, error) {
	b, _ := json.Marshal(o)
	k.calls = append(k.calls, fmt.Sprint("get ", thread, " ", string(b)))
	return k.ms, k.fail
}

// socket is a Socket from a function.
type socket func(n conversation.Notice) error

func (s socket) Notify(_ context.Context, n conversation.Notice) error { return s(n) }

// notified is a socket that records its notices.
type notified []string

func (l *notified) Notify(_ context.Context, n conversation.Notice) error {
	*l = append(*l, n.Thread+" "+n.Message.Text())
	return nil
}

func texts(ms []message.Message) (list []string) {
	for _, m := range ms {
		list = append(list, m.Text())
	}
	return list
}

func manager(t testing.TB, cfg conversation.Config) *conversation.Manager {
	t.Helper()
	m, err := conversation.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func want(t testing.TB, rule string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("rule: %s\n got: %q\nwant: %q", rule, got, want)
	}
}

func TestNew_RequiresRepositoryAndSockets(t *testing.T) {
	for _, cfg := range []conversation.Config{{}, {Repository: &spyRepository{}, Sockets: []conversation.Socket{nil}}} {
		if _, err := conversation.New(cfg); !errors.Is(err, conversation.ErrConfig) {
			t.Errorf("rule: a manager needs a repository, and no socket is nil\n got: %v", err)
		}
	}
	if _, err := conversation.New(conversation.Config{Repository: &spyRepository{}}); err != nil {
		t.Errorf("rule: a manager needs no socket\n got: %v", err)
	}
}

func TestManagerAdd_EmptyThread(t *testing.T) {
	k, l := &spyRepository{}, &notified{}
	m := manager(t, conversation.Config{Repository: k, Sockets: []conversation.Socket{l}})
	for _, ms := range [][]message.Message{nil, {message.User("x")}} {
		if _, err := m.Add(t.Context(), "", ms...); !errors.Is(err, checkpoint.ErrThreadID) {
			t.Errorf("rule: a thread has a name, also without messages\n got: %v", err)
		}
	}
	want(t, "nothing is called then", append(k.calls, *l...), nil)
}

func TestManagerAdd_NoMessages(t *testing.T) {
	k, l := &spyRepository{}, &notified{}
	m := manager(t, conversation.Config{Repository: k, Sockets: []conversation.Socket{l}})
	for _, ms := range [][]message.Message{nil, {}} {
		if _, err := m.Add(t.Context(), "t", ms...); err != nil {
			t.Error(err)
		}
	}
	want(t, "to add nothing calls nothing", append(k.calls, *l...), nil)
}

func TestManagerAdd_StoresBeforeNotifying(t *testing.T) {
	k := &spyRepository{}
	atNotice := -1
	s := socket(func(conversation.Notice) error { atNotice = len(k.ms); return nil })
	m := manager(t, conversation.Config{Repository: k, Sockets: []conversation.Socket{s}})
	stored, err := m.Add(t.Context(), "t", message.User("a"), message.User("b"))
	if err != nil || len(stored) != 2 || atNotice != 2 {
		t.Errorf("rule: all messages are stored before the first notice\n got: %v, %v, %d stored at a notice", stored, err, atNotice)
	}
	want(t, "one call persists all", k.calls, []string{"add t [a b]"})
}

func TestManagerAdd_NotifiesInOrder(t *testing.T) {
	var l notified
	second := socket(func(n conversation.Notice) error { l = append(l, "2nd "+n.Message.Text()); return nil })
	m := manager(t, conversation.Config{Repository: &spyRepository{}, Sockets: []conversation.Socket{&l, second}})
	other, _ := message.User("b").With(conversation.ThreadKey, "other")
	if _, err := m.Add(t.Context(), "t", message.User("a"), other); err != nil {
		t.Fatal(err)
	}
	want(t, "each message once to each socket, in order, for the thread of the Add", l, []string{"t a", "2nd a", "t b", "2nd b"})
}

func TestManagerAdd_StoreFailure(t *testing.T) {
	k, l := &spyRepository{fail: errors.New("full")}, &notified{}
	m := manager(t, conversation.Config{Repository: k, Sockets: []conversation.Socket{l}})
	if _, err := m.Add(t.Context(), "t", message.User("a")); !errors.Is(err, k.fail) {
		t.Errorf("got %v, want the repository's error", err)
	}
	want(t, "a message that is not stored is not notified", *l, nil)
}

func TestManagerAdd_SocketFailuresAreLogged(t *testing.T) {
	var log bytes.Buffer
	l := &notified{}
	bad := socket(func(n conversation.Notice) error {
		if n.Message.Text() == "a" {
			panic("ouch")
		}
		return errors.New("broken")
	})
	cfg := conversation.Config{Repository: &spyRepository{}, Sockets: []conversation.Socket{bad, l}, Log: slog.New(slog.NewTextHandler(&log, nil))}
	stored, err := manager(t, cfg).Add(t.Context(), "t", message.User("a"), message.User("b"))
	if err != nil || len(stored) != 2 {
		t.Errorf("rule: a socket cannot fail an Add\n got: %v", err)
	}
	want(t, "the other socket receives all messages", *l, []string{"t a", "t b"})
	if text := log.String(); strings.Count(text, "WARN") != 2 || !strings.Contains(text, "ouch") || !strings.Contains(text, "broken") || !strings.Contains(text, "thread=t") {
		t.Errorf("rule: each failure is logged\n got: %s", text)
	}
}

func TestManagerGet_EmptyThread(t *testing.T) {
	k := &spyRepository{}
	if _, err := manager(t, conversation.Config{Repository: k}).Get(t.Context(), "", conversation.Options{}); !errors.Is(err, checkpoint.ErrThreadID) {
		t.Errorf("got %v, want ErrThreadID", err)
	}
	want(t, "the repository is not asked", k.calls, nil)
}

func TestManagerGet_PassesOptionsOn(t *testing.T) {
	k := &spyRepository{ms: []message.Message{message.User("b"), message.User("a")}}
	m := manager(t, conversation.Config{Repository: k})
	got, err := m.Get(t.Context(), "t", conversation.Options{})
	if err != nil || &got[0] != &k.ms[0] {
		t.Errorf("rule: Get returns the result of the repository\n got: %v, %v", got, err)
	}
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	if _, err := m.Get(t.Context(), "t", conversation.Options{Limit: new(-3), Before: &noon, Roles: []message.Role{"user"}}); err != nil {
		t.Error(err)
	}
	want(t, "the options are passed on as they are", k.calls, []string{
		`get t {"Limit":null,"Before":null,"After":null,"OlderThan":null,"NewerThan":null,"Roles":null}`,
		`get t {"Limit":-3,"Before":"2026-01-01T12:00:00Z","After":null,"OlderThan":null,"NewerThan":null,"Roles":["user"]}`,
	})
}

func TestManagerGet_RepositoryFailure(t *testing.T) {
	k := &spyRepository{fail: errors.New("gone")}
	if _, err := manager(t, conversation.Config{Repository: k}).Get(t.Context(), "t", conversation.Options{}); err != k.fail {
		t.Errorf("got %v, want the repository's error", err)
	}
}

func TestOptions_MayBeUnset(t *testing.T) {
	o := reflect.TypeFor[conversation.Options]()
	for _, name := range []string{"Limit", "Before", "After", "Roles"} {
		if f, ok := o.FieldByName(name); !ok || f.Type.Kind() != reflect.Pointer && f.Type.Kind() != reflect.Slice {
			t.Errorf("the option %s must exist and may be left open (got %v)", name, f.Type)
		}
	}
}

// talk returns a manager of a store.
func talk(t testing.TB, store document.Store, cfg conversation.Config) *conversation.Manager {
	t.Helper()
	repo, err := conversation.NewRepository(store)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Repository = repo
	return manager(t, cfg)
}

func say(text string) func(context.Context, []message.Message) (message.Message, error) {
	return func(context.Context, []message.Message) (message.Message, error) { return message.Assistant(text), nil }
}

func TestExchange_HistoryEndsBeforeTheQuestion(t *testing.T) {
	m := talk(t, new(document.Map), conversation.Config{History: new(2)})
	for i := range 3 {
		var history []string
		_, err := m.Exchange(t.Context(), "t", message.User(fmt.Sprint("q", i)), func(_ context.Context, ms []message.Message) (message.Message, error) {
			history = texts(ms)
			return message.Assistant(fmt.Sprint("a", i)), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		wanted := [][]string{nil, {"q0", "a0"}, {"q1", "a1"}}[i]
		want(t, "who answers gets the newest messages before the question", history, wanted)
	}
}

// Requirement: user messages are not stored
func TestExchange_StoresQuestionAndAnswer(t *testing.T) {
	k := &spyRepository{}
	said, err := manager(t, conversation.Config{Repository: k}).Exchange(t.Context(), "t", message.User("q"), say("a"))
	if err != nil || said.Text() != "a" {
		t.Errorf("got %q, %v", said.Text(), err)
	}
	want(t, "question and answer are persisted by one call, the question first", k.calls[1:], []string{"add t [q a]"})
	m := talk(t, new(document.Map), conversation.Config{})
	if _, err := m.Exchange(t.Context(), "t", message.User("q"), say("a")); err != nil {
		t.Fatal(err)
	}
	got, err := m.Get(t.Context(), "t", conversation.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want(t, "both are there", texts(got), []string{"q", "a"})
}

func TestExchange_FailureKeepsTheQuestion(t *testing.T) {
	no := errors.New("no idea")
	for name, answer := range map[string]func(context.CancelFunc) (message.Message, error){
		"error":   func(context.CancelFunc) (message.Message, error) { return message.Message{}, no },
		"panic":   func(context.CancelFunc) (message.Message, error) { panic(no) },
		"no role": func(context.CancelFunc) (message.Message, error) { return message.Message{}, nil },
		"ended": func(cancel context.CancelFunc) (message.Message, error) {
			cancel()
			return message.Assistant("late"), nil
		},
	} {
		m := talk(t, new(document.Map), conversation.Config{})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		_, err := m.Exchange(ctx, "t", message.User("q"), func(context.Context, []message.Message) (message.Message, error) { return answer(cancel) })
		if err == nil || name == "error" && !errors.Is(err, no) || name == "panic" && !errors.Is(err, conversation.ErrPanic) || name == "ended" && !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got the error %v", name, err)
		}
		got, err := m.Get(t.Context(), "t", conversation.Options{})
		if err != nil {
			t.Fatal(err)
		}
		want(t, name+": the question is stored once", texts(got), []string{"q"})
	}
}

func TestManagerGet_RolesBeforeLimit(t *testing.T) {
	m := talk(t, new(document.Map), conversation.Config{})
	for i := range 3 {
		if _, err := m.Exchange(t.Context(), "t", message.User(fmt.Sprint("q", i)), say(fmt.Sprint("a", i))); err != nil {
			t.Fatal(err)
		}
	}
	got, err := m.Get(t.Context(), "t", conversation.Options{Roles: []message.Role{message.RoleUser}, Limit: new(2)})
	if err != nil {
		t.Fatal(err)
	}
	want(t, "the limit counts messages of the roles", texts(got), []string{"q1", "q2"})
}

func TestParseRole_UpperCase(t *testing.T) {
	for text, role := range map[string]message.Role{"USER": "user", "AI": "assistant", "SYSTEM": "system", "TOOL": "tool"} {
		if got, err := message.ParseRole(text); err != nil || got != role {
			t.Errorf("%s is read as %q, %v", text, got, err)
		}
	}
}

// Requirement: filters of subscribers are ignored
func TestFeed_Filters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		feed := conversation.NewFeed(&topic.Local{})
		m := talk(t, new(document.Map), conversation.Config{Sockets: []conversation.Socket{feed}})
		ctx, cancel := context.WithCancel(t.Context())
		received := map[string]*[]string{}
		for name, f := range map[string]conversation.Filter{
			"all": {}, "thread": {Thread: "t"}, "user": {Roles: []message.Role{message.RoleUser}}, "calls": {Types: []conversation.Type{conversation.TypeCalls, conversation.TypeResults}},
			"summaries of t": {Thread: "t", Types: []conversation.Type{conversation.TypeSummary}}, "no match": {Thread: "t", Roles: []message.Role{message.RoleUser}, Types: []conversation.Type{conversation.TypeCalls}},
		} {
			sub, list := feed.Subscribe(ctx, f), new([]string)
			received[name] = list
			go func() {
				for n, err := range sub {
					if err != nil {
						t.Error(err)
					}
					*list = append(*list, n.Thread+" "+string(n.Message.Role))
				}
			}()
		}
		summary, err := message.Summary{Plan: message.Plan{Messages: []message.Message{{ID: "x", Role: message.RoleUser}}}, Text: "short"}.Message()
		if err != nil {
			t.Fatal(err)
		}
		m.Add(t.Context(), "t", message.User("q"), message.Assistant("", message.Call{ID: "1", Name: "f"}), message.Tool(message.ResultOf("1", "r")), summary)
		m.Add(t.Context(), "u", message.User("q"))
		synctest.Wait()
		cancel()
		synctest.Wait()
		for name, list := range map[string][]string{
			"all": {"t user", "t assistant", "t tool", "t system", "u user"}, "thread": {"t user", "t assistant", "t tool", "t system"},
			"user": {"t user", "u user"}, "calls": {"t assistant", "t tool"}, "summaries of t": {"t system"}, "no match": nil,
		} {
			want(t, "a subscriber to "+name+" receives the notices of its filter", *received[name], list)
		}
	})
}

func TestManagerAdd_SlowSocketIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck := stuckSocket{}
		cfg := conversation.Config{Repository: &spyRepository{}, Sockets: []conversation.Socket{stuck}, RetryFor: time.Second, Log: slog.New(slog.DiscardHandler)}
		begin := time.Now()
		if _, err := manager(t, cfg).Add(t.Context(), "t", message.User("a"), message.User("b"), message.User("c")); err != nil {
			t.Error(err)
		}
		if took := time.Since(begin); took != time.Second {
			t.Errorf("got %v for three messages, want 1s", took)
		}
	})
}

// stuckSocket waits for the end of its context.
type stuckSocket struct{}

func (stuckSocket) Notify(ctx context.Context, _ conversation.Notice) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestPage_RepositoryWithoutPages(t *testing.T) {
	m := manager(t, conversation.Config{Repository: &spyRepository{}})
	if _, err := m.Page(t.Context(), "t", conversation.Options{}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("got %v, want errors.ErrUnsupported", err)
	}
	if _, err := m.Page(t.Context(), "", conversation.Options{}); !errors.Is(err, checkpoint.ErrThreadID) {
		t.Errorf("got %v, want ErrThreadID", err)
	}
}

func TestParseCursor_Malformed(t *testing.T) {
	for _, text := range []string{"", "#", "2026-01-01T12:00:00Z", "2026-01-01T12:00:00Z#", "2026-01-01T12:00:00Z#-1", "noon#1", "#1", "2026-01-01T12:00:00Z#1#2"} {
		if c, err := conversation.ParseCursor(text); !errors.Is(err, conversation.ErrCursor) {
			t.Errorf("%q: got %v, %v, want ErrCursor", text, c, err)
		}
	}
}
