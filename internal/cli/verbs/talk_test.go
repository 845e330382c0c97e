//go:build unix

package verbs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weftrun/weft/capabilities/memory"
	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	longterm "github.com/weftrun/weft/checkpoint/memory"
	"github.com/weftrun/weft/checkpoint/postgres"
	"github.com/weftrun/weft/checkpoint/redis"
	"github.com/weftrun/weft/checkpoint/sqlite"
	"github.com/weftrun/weft/conversation"
	"github.com/weftrun/weft/conversation/session"
	"github.com/weftrun/weft/conversation/thread"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/servertest"
	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/state/message"
)

// application is what an application of its own keeps in a store, beside the command line.
type application struct {
	*testing.T
	store checkpoint.Store
	docs  document.Store
	known longterm.Store
}

// newApplication opens the store at an address, whichever it is.
func newApplication(t *testing.T, dir, address string) application {
	t.Helper()
	a, err := openApplication(t, dir, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.store.Close() })
	return a
}

func openApplication(t *testing.T, dir, address string) (a application, err error) {
	ctx, scheme := t.Context(), address[:strings.Index(address, ":")]
	a.T = t
	switch scheme {
	case "redis":
		s, err := redis.OpenURL(ctx, address)
		if err != nil {
			return a, err
		}
		a.store, a.known = s, s.Memory()
		a.docs, err = s.Documents(ctx)
		return a, err
	case "postgres":
		s, err := postgres.Open(ctx, address, postgres.Config{RetryFor: time.Minute})
		if err != nil {
			return a, err
		}
		a.store = s
		if a.docs, err = s.Documents(ctx); err == nil {
			a.known, err = s.Memory(ctx)
		}
		return a, err
	}
	s, err := sqlite.Open(ctx, dir+"/"+strings.TrimPrefix(address, "sqlite:"))
	if err != nil {
		return a, err
	}
	a.store = s
	if a.docs, err = s.Documents(ctx); err == nil {
		a.known, err = s.Memory(ctx)
	}
	return a, err
}

// noon is when everything was said.
var noon = time.Date(2026, 3, 20, 12, 0, 0, 0, time.UTC)

func spoken(role message.Role, id, text string, minute int) message.Message {
	return message.Message{ID: id, Role: role, Content: []message.Part{message.Text(text)}, Created: noon.Add(time.Duration(minute) * time.Minute)}
}

func (a application) must(err error) {
	a.Helper()
	if err != nil {
		a.Fatal(err)
	}
}

// thread keeps a record and a conversation under one name.
func (a application) thread(name string) {
	a.Helper()
	repo := thread.NewRepository[map[string]any](a.docs)
	a.must(repo.SetConfig(a.Context(), name, thread.Config{"enabledTools": []string{"dice"}, "historyLimit": 20}))
	_, err := repo.SetState(a.Context(), name, &thread.State[map[string]any]{Data: &map[string]any{"room": "cellar"}})
	a.must(err)
	talk, err := conversation.NewRepository(a.docs)
	a.must(err)
	asks := spoken(message.RoleAssistant, "b", "I roll.", 1)
	asks.Calls = []message.Call{{ID: "1", Name: "dice", Arguments: json.RawMessage(`{"sides":6}`)}}
	answer := message.Message{ID: "c", Role: message.RoleTool, Results: []message.Result{message.ResultOf("1", "four")}, Created: noon.Add(2 * time.Minute)}
	_, err = talk.Add(a.Context(), name, spoken(message.RoleUser, "a", "Roll the dice.", 0), asks, answer, spoken(message.RoleAssistant, "d", "It is four.", 3))
	a.must(err)
}

// chatter is the state of a graph with a log.
type chatter struct {
	Messages message.Log    `json:"messages"`
	Count    state.Sum[int] `json:"count"`
}

// graph runs a graph whose state has a log, twice, so that it is stored in pieces.
func (a application) graph(name string) {
	a.Helper()
	g := compiled(a, "chat", func(_ context.Context, s *chatter) error {
		n := len(s.Messages.Slice())
		return s.Messages.Add(spoken(message.RoleAssistant, fmt.Sprint("r", n), fmt.Sprint("reply ", n), n))
	})
	for i, text := range []string{"One?", "Two?"} {
		_, err := g.Invoke(a.Context(), chatter{Messages: message.LogOf(spoken(message.RoleUser, fmt.Sprint("u", i), text, 2*i))}, graph.RunOptions{Thread: name})
		a.must(err)
	}
}

// listing is the state of a graph with a list of objects under the name messages.
type listing struct {
	Messages state.List[map[string]any] `json:"messages"`
}

type numbered struct {
	Messages state.Sum[int] `json:"messages"`
}

func eachStore(t *testing.T, test func(p place, a application, store string)) {
	t.Parallel()
	for name, address := range map[string]func(t *testing.T) string{
		"sqlite":   func(*testing.T) string { return "sqlite:a.db" },
		"redis":    func(t *testing.T) string { return servertest.Redis(t) },
		"postgres": func(t *testing.T) string { return servertest.Postgres(t) },
	} {
		t.Run(name, func(t *testing.T) {
			p, store := newPlace(t), address(t)
			test(p, newApplication(t, p.dir, store), store)
		})
	}
}

func TestThreads_RecordsOfAnApplication(t *testing.T) {
	eachStore(t, func(p place, a application, store string) {
		a.thread("t1")
		a.graph("chat-1")
		e := p.must(0, "threads", "config", "t1", "--store", store)
		expect(p.T, "config", e.stdout, "enabledTools: [\"dice\"]\nhistoryLimit: 20\n")
		expect(p.T, "config of a path", p.must(0, "threads", "config", "t1", "--path", "enabledTools.0", "--store", store).stdout, "enabledTools.0: dice\n")
		expect(p.T, "config as JSON", p.must(0, "threads", "config", "t1", "--json", "--store", store).stdout, `{"enabledTools":["dice"],"historyLimit":20}`+"\n")
		e = p.must(0, "threads", "show", "t1", "--store", store)
		expect(p.T, "show", withoutTimes(e.stdout), "thread t1\n\nno graph has run on it: it is what an application keeps under this name\n\nconfig:\nenabledTools: [\"dice\"]\nhistoryLimit: 20\n\nstate:\ndata: {\"room\":\"cellar\"}\nversion: 1\n\nlast message, of TIME:\nassistant: It is four.\n")
		e = p.must(0, "threads", "messages", "t1", "--store", store)
		expect(p.T, "messages", withoutTimes(e.stdout), "TIME user: Roll the dice.\nTIME assistant: I roll. calls dice({\"sides\":6})\nTIME tool: four\nTIME assistant: It is four.\n")
		for flags, want := range map[string]string{
			"--limit 1":                          "d",
			"--role user --role tool":            "a c",
			"--role assistant --limit 1":         "d",
			"--after 2026-03-20T12:00:00Z":       "b c d",
			"--before 2026-03-20T12:02:00Z":      "a b",
			"--before 2026-03-20T14:01:00+02:00": "a",
		} {
			expect(p.T, flags, p.ids("threads messages t1 "+flags+" --store "+store), want)
		}
		expect(p.T, "the log of a graph", p.ids("threads messages chat --store "+store), "u0 r1 u1 r3") // of a name the beginning
		expect(p.T, "part of a log", p.ids("threads messages chat-1 --role user --limit 1 --before 2026-03-20T12:02:00Z --store "+store), "u0")
		if e := p.must(0, "threads", "show", "chat", "--json", "--store", store); !strings.HasPrefix(e.stdout, `{"thread":"chat-1","graph":{"thread":"chat-1",`) {
			p.Errorf("show of a graph: %s", e.stdout)
		}
		e = p.must(2, "threads", "config", "chat-1", "--store", store)
		if !strings.Contains(e.stderr, "has no configuration") || !strings.Contains(e.stderr, "\nnext: ") {
			p.Errorf("a thread without a configuration: %s", e.stderr)
		}
		e = p.must(2, "threads", "messages", "missing", "--store", store)
		if !strings.Contains(e.stderr, `there is no thread "missing"`) || !strings.Contains(e.stderr, "\nnext: ") {
			p.Errorf("an unknown thread: %s", e.stderr)
		}
	})
}

// Twenty messages of one Add have one time. Paged by five, each comes once.
func TestThreadsMessages_PagedByCursor(t *testing.T) {
	eachStore(t, func(p place, a application, store string) {
		talk, err := conversation.NewRepository(a.docs)
		a.must(err)
		talk.Now = func() time.Time { return noon }
		var ms []message.Message
		log := message.LogOf()
		var want []string
		for i := range 20 {
			m := message.User(fmt.Sprint("text ", i))
			m.ID = fmt.Sprint("m", i)
			want = append(want, m.ID)
			ms = append(ms, m)
			a.must(log.Add(m))
		}
		_, err = talk.Add(a.Context(), "talk", ms...)
		a.must(err)
		put(a, "log", chatter{Messages: log})
		for _, thread := range []string{"talk", "log"} {
			var back, forth []string
			for flags := ""; ; {
				ids, first, _ := p.page("threads messages " + thread + " --limit 5" + flags + " --store " + store)
				if len(ids) == 0 {
					break
				}
				back, flags = append(ids, back...), " --before "+first
			}
			expect(p.T, thread+" paged back", strings.Join(back, " "), strings.Join(want, " "))
			_, first, _ := p.page("threads messages " + thread + " --store " + store)
			for flags := " --after " + first; ; {
				ids, _, last := p.page("threads messages " + thread + " --limit 5" + flags + " --store " + store)
				if len(ids) == 0 {
					break
				}
				forth, flags = append(forth, ids...), " --after "+last
			}
			expect(p.T, thread+" paged forth", strings.Join(forth, " "), strings.Join(want[1:], " "))
			e := p.must(0, "threads", "messages", thread, "--limit", "5", "--store", store)
			if !strings.Contains(e.stderr, "older messages: --before ") {
				p.Errorf("rule: a page names the command for the page before\n got: %q", e.stderr)
			}
		}
	})
}

// page runs a command with --json. It returns the ids of the printed messages, and the first and
// the last cursor.
func (p place) page(command string) (ids []string, first, last string) {
	p.Helper()
	for line := range strings.Lines(p.must(0, append(strings.Fields(command), "--json")...).stdout) {
		var m struct{ ID, Cursor string }
		if err := json.Unmarshal([]byte(line), &m); err != nil || m.Cursor == "" {
			p.Fatalf("got %q, %v, want a message with a cursor", line, err)
		}
		if len(ids) == 0 {
			first = m.Cursor
		}
		ids, last = append(ids, m.ID), m.Cursor
	}
	return ids, first, last
}

// ids runs a command with --json and returns the ids of what it prints.
func (p place) ids(command string) string {
	p.Helper()
	var all []string
	for line := range strings.Lines(p.must(0, append(strings.Fields(command), "--json")...).stdout) {
		var m struct{ ID string }
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			p.Fatal(err)
		}
		all = append(all, m.ID)
	}
	return strings.Join(all, " ")
}

func TestMessages_StateWithoutALog(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	a := newApplication(t, p.dir, "sqlite:a.db")
	put(a, "list", listing{Messages: state.ListOf(map[string]any{"role": "user", "content": "Hello", "id": "x"})})
	put(a, "sum", numbered{Messages: state.SumOf(3)})
	put(a, "odd", listing{Messages: state.ListOf(map[string]any{"role": "user"}, map[string]any{"role": "missing"})})
	put(a, "log", chatter{Messages: message.LogOf(spoken(message.RoleUser, "u", "Hello", 0))})
	a.thread("log") // has both
	expect(t, "a list of objects", p.ids("threads messages list --store sqlite:a.db"), "x")
	expect(t, "a conversation before a log", p.ids("threads messages log --limit 1 --store sqlite:a.db"), "d")
	expect(t, "a log, if it is asked for", p.ids("threads messages log --from state --store sqlite:a.db"), "u")
	for name, why := range map[string]string{"sum": "it is something else", "odd": "item 1: "} {
		e := p.must(1, "threads", "messages", name, "--store", "sqlite:a.db")
		if !strings.Contains(e.stderr, name+"\" is no list of messages: "+why) || !strings.Contains(e.stderr, " state --thread "+name) {
			t.Errorf("what is called messages and is none: %s", e.stderr)
		}
	}
}

// put runs a graph that does nothing on an input.
func put[S any](a application, name string, in S) {
	a.Helper()
	g := compiled(a, name, func(context.Context, *S) error { return nil })
	_, err := g.Invoke(a.Context(), in, graph.RunOptions{Thread: name})
	a.must(err)
}

// compiled returns a graph of one node.
func compiled[S any](a application, name string, node func(context.Context, *S) error) *graph.Graph[S] {
	a.Helper()
	b := graph.New[S](name)
	b.Node("node", graph.Func(node))
	b.Edge(graph.Start, "node")
	b.Edge("node", graph.End)
	g, err := b.Compile(graph.Config{Store: a.store})
	a.must(err)
	return g
}

// sessions begins one session of ada that is over, one that goes on, and one of bob.
func (a application) sessions() *session.Manager {
	a.Helper()
	now := time.Now().Add(-2 * time.Hour)
	engine, err := memory.New(memory.Config{Store: a.known})
	a.must(err)
	m, err := session.New(session.Config{Store: a.docs, Engine: engine, TTL: time.Hour, Now: func() time.Time { return now }})
	a.must(err)
	begin := func(id, user, text string) {
		_, err := m.Create(a.Context(), session.Start{ID: id, User: user})
		a.must(err)
		_, err = m.Append(a.Context(), id, message.User(text))
		a.must(err)
	}
	begin("old", "ada", "I drink green tea.")
	now = time.Now()
	begin("new", "ada", "My dog is called Byron.")
	begin("bobs", "bob", "I live in a lighthouse.")
	return m
}

func TestSessions_ListEndAndOffload(t *testing.T) {
	eachStore(t, func(p place, a application, store string) {
		m := a.sessions()
		expect(p.T, "ls", p.lives(store), "bobs live 1 , new live 1 , old over 1 ")
		expect(p.T, "ls of a user", p.lives(store, "--user", "bob"), "bobs live 1 ")
		e := p.must(0, "sessions", "end", "bobs", "--store", store)
		expect(p.T, "end", e.stdout, "session bobs has ended\n")
		expect(p.T, "end again", p.must(0, "sessions", "end", "bobs", "--store", store).stdout, "session bobs had ended before\n")
		if _, err := m.Get(a.Context(), "bobs"); !errors.Is(err, session.ErrEnded) {
			p.Errorf("rule: what the command ended has ended for its application\n got: %v", err)
		}
		expect(p.T, "ls with one that waits", p.lives(store), "bobs ended 1 end, new live 1 , old over 1 ")
		e = p.must(0, "sessions", "offload", "--store", store)
		expect(p.T, "offload", e.stdout, "1 ended since their time was over, 2 offloaded, 2 gone\n")
		expect(p.T, "ls of what is left", p.lives(store), "new live 1 ")
		engine, err := memory.New(memory.Config{Store: a.known})
		a.must(err)
		for user, want := range map[string]string{"ada": "green tea", "bob": "lighthouse"} {
			if known, err := engine.Bootstrap(a.Context(), user); err != nil || !strings.Contains(known, want) {
				p.Errorf("rule: what was offloaded is known to the engine of the application\n got: %q, %v\nwant: %q", known, err, want)
			}
		}
		expect(p.T, "offload of nothing", p.must(0, "sessions", "offload", "--json", "--store", store).stdout, `{"expired":0,"offloaded":0,"removed":0}`+"\n")
		p.must(0, "sessions", "end", "new", "--store", store)
		e = p.must(0, "sessions", "offload", "--to", "-", "--json", "--store", store)
		var line struct {
			Session, Key, User, Reason string
			Messages                   []message.Message
		}
		if err := json.Unmarshal([]byte(e.stdout), &line); err != nil || line.Session != "new" || line.Key == "" || line.User != "ada" || line.Reason != "end" || len(line.Messages) != 1 {
			p.Errorf("rule: a session becomes a line of JSON\n got: %s, %v", e.stdout, err)
		}
		for _, args := range [][]string{{"end", "missing"}, {"end", "new"}, {"end", ""}} {
			e = p.must(2, append(append([]string{"sessions"}, args...), "--store", store)...)
			if !strings.Contains(e.stderr, "\nnext: ") {
				p.Errorf("%q: %s", args, e.stderr)
			}
		}
	})
}

// lives lists sessions in the order of their names: name, status, messages and why it ended.
func (p place) lives(store string, flags ...string) string {
	p.Helper()
	var all []string
	for line := range strings.Lines(p.must(0, append([]string{"sessions", "ls", "--json", "--store", store}, flags...)...).stdout) {
		var l struct {
			Session, Status, Reason string
			Messages                int
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			p.Fatal(err)
		}
		all = append(all, fmt.Sprintf("%s %s %d %s", l.Session, l.Status, l.Messages, l.Reason))
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

func TestSessions_FailedOffloadStaysStored(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	newApplication(t, p.dir, "sqlite:a.db").sessions()
	p.must(0, "sessions", "end", "bobs", "--store", "sqlite:a.db")
	e := p.must(1, "sessions", "offload", "--to", "/dev/full", "--store", "sqlite:a.db")
	if !strings.Contains(e.stderr, "offloaded 0 sessions, and not all") || !strings.Contains(e.stderr, "\nnext: give the same command again later") {
		t.Errorf("a disk that is full: %s", e.stderr)
	}
	expect(t, "ls", p.lives("sqlite:a.db"), "bobs ended 1 end, new live 1 , old ended 1 timeout")
	e = p.must(2, "sessions", "offload", "--to", p.path("no/such/folder"), "--store", "sqlite:a.db")
	if !strings.Contains(e.stderr, "\nnext: check the path") {
		t.Errorf("a folder that is not there: %s", e.stderr)
	}
}
