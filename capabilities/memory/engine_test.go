package memory_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weftrun/weft/capabilities/memory"
	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	longterm "github.com/weftrun/weft/checkpoint/memory"
	"github.com/weftrun/weft/conversation/session"
	"github.com/weftrun/weft/state/message"
)

func engine(t testing.TB, cfg memory.Config) *memory.Engine {
	t.Helper()
	if cfg.Store == nil {
		cfg.Store = new(longterm.Map)
	}
	e, err := memory.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// ended returns a session of Ada with these messages.
func ended(key string, texts ...string) session.Ended {
	e := session.Ended{Key: key, ID: "s-" + key, User: "ada", Ended: noon.Add(time.Hour)}
	for i, text := range texts {
		m := message.User(text)
		m.ID, m.Created = fmt.Sprint(key, "-", i), noon.Add(time.Duration(i)*time.Minute)
		e.Messages = append(e.Messages, m, message.Assistant("I see that you said so."))
	}
	return e
}

func offload(t testing.TB, e *memory.Engine, s session.Ended) {
	t.Helper()
	if err := e.Offload(t.Context(), s); err != nil {
		t.Fatalf("offload: %v", err)
	}
}

func recall(t testing.TB, e *memory.Engine, query string) (texts []string) {
	t.Helper()
	list, err := e.Recall(t.Context(), "ada", query, 0)
	if err != nil {
		t.Fatalf("recall: %v", err)
	}
	for _, r := range list {
		texts = append(texts, r.Text)
	}
	return texts
}

func want(t testing.TB, rule string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("rule: %s\n got: %q\nwant: %q", rule, got, want)
	}
}

func TestFacts_AreRecalledByWordsWithTheirSources(t *testing.T) {
	e := engine(t, memory.Config{})
	offload(t, e, ended("1", "Hi! I drink green tea. Do you like tea?\nMy dog is called Byron", "Thanks a lot, v1.5 works for me!"))
	want(t, "the fact with most of the rarest words comes first", recall(t, e, "What is the dog called?"), "My dog is called Byron")
	want(t, "a question is no fact", recall(t, e, "tea"), "I drink green tea.")
	want(t, "a mark inside a word ends no sentence", recall(t, e, "works"), "Thanks a lot, v1.5 works for me!")
	want(t, "an unknown fact is not recalled", recall(t, e, "coffee"))
	list, err := e.Recall(t.Context(), "ada", "green tea", 1)
	if err != nil || len(list) != 1 || len(list[0].Sources) != 1 {
		t.Fatalf("got %+v, %v", list, err)
	}
	if got, want := list[0].Sources[0], (memory.Source{Session: "s-1", Key: "1", Message: "1-0", At: noon}); got != want {
		t.Errorf("rule: a fact has its source\n got: %+v\nwant: %+v", got, want)
	}
	if other, err := e.Recall(t.Context(), "bob", "tea", 0); err != nil || len(other) > 0 {
		t.Errorf("rule: users are separate\n got: %v, %v", other, err)
	}
	if _, err := e.Recall(t.Context(), "ada", "tea", -1); !errors.Is(err, longterm.ErrQuery) {
		t.Errorf("got %v for a negative limit", err)
	}
}

func TestOffload_TakesASessionOnce(t *testing.T) {
	e := engine(t, memory.Config{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() { offload(t, e, ended("1", "I drink green tea.")) })
		wg.Go(func() { offload(t, e, ended("2", "I drink green tea!", "i DRINK green tea")) })
	}
	wg.Wait()
	list, err := e.Recall(t.Context(), "ada", "tea", 0)
	if err != nil || len(list) != 1 {
		t.Fatalf("rule: the same words are one fact\n got: %+v, %v", list, err)
	}
	var sources []string
	for _, s := range list[0].Sources {
		sources = append(sources, s.Message)
	}
	slices.Sort(sources)
	want(t, "each time it was said is one source, however often it was offered", sources, "1-0", "2-0", "2-1")
}

func TestFacts_AreRecalledByMeaning(t *testing.T) {
	down := false
	index := &longterm.Index{Store: new(longterm.Map), Dims: 2, Fields: []string{"text"}, Embed: func(_ context.Context, texts []string) (vectors [][]float32, err error) {
		if down {
			return nil, errors.New("no embedder")
		}
		for _, text := range texts {
			v := []float32{0.1, 1}
			if strings.Contains(text, "tea") || strings.Contains(text, "beverage") {
				v = []float32{1, 0.1}
			}
			vectors = append(vectors, v)
		}
		return vectors, nil
	}}
	e := engine(t, memory.Config{Store: index})
	offload(t, e, ended("1", "My dog is called Byron.", "I drink green tea."))
	want(t, "what means the same comes first", recall(t, e, "favourite beverage"), "I drink green tea.", "My dog is called Byron.")
	down = true
	want(t, "without the embedder words are left", recall(t, e, "the dog"), "My dog is called Byron.")
}

func TestBootstrap_ReturnsTheLatestFacts(t *testing.T) {
	e := engine(t, memory.Config{Known: 1})
	if text, err := e.Bootstrap(t.Context(), "ada"); text != "" || err != nil {
		t.Errorf("got %q, %v for an unknown user", text, err)
	}
	offload(t, e, ended("1", "I drink green tea."))
	offload(t, e, ended("2", "My dog is called Byron."))
	text, err := e.Bootstrap(t.Context(), "ada")
	if err != nil || text != "From earlier conversations:\n- My dog is called Byron. (2026-05-01)" {
		t.Errorf("got %q, %v", text, err)
	}
	if err := e.Forget(t.Context(), "ada"); err != nil {
		t.Fatal(err)
	}
	if text, err := e.Bootstrap(t.Context(), "ada"); text != "" || err != nil {
		t.Errorf("rule: Forget removes a user\n got: %q, %v", text, err)
	}
}

func TestBootstrap_OrdersFactsOfOneSessionByTime(t *testing.T) {
	e := engine(t, memory.Config{Known: 3})
	offload(t, e, ended("1", "I like tea one.", "I like tea two.", "I like tea three.", "I like tea four.", "I like tea five."))
	text, err := e.Bootstrap(t.Context(), "ada")
	want(t, "what was said last comes first, and what is not known any more was said before", strings.Split(text, "\n")[1:],
		"- I like tea five. (2026-05-01)", "- I like tea four. (2026-05-01)", "- I like tea three. (2026-05-01)")
	if err != nil {
		t.Error(err)
	}
	want(t, "of equals those that were said last", recall(t, e, "tea")[:2], "I like tea five.", "I like tea four.")
}

// Requirement: an unreadable memory is overwritten
func TestOffload_FailsIfTheMemoryCannotBeRead(t *testing.T) {
	store := new(longterm.Map)
	e := engine(t, memory.Config{Store: store})
	offload(t, e, ended("1", "I drink green tea."))
	page, err := store.Search(t.Context(), longterm.Query{Text: "green"})
	if err != nil || len(page.Items) != 1 {
		t.Fatal(page, err)
	}
	broken := page.Items[0]
	for _, damage := range []string{`"scribbled over"`, `{"kind":"fact","text":7}`, `{"kind":"note","text":"mine"}`} {
		if _, err := store.Put(t.Context(), broken.Namespace, broken.Key, []byte(damage), longterm.Options{}); err != nil {
			t.Fatal(err)
		}
		if err := e.Offload(t.Context(), ended("2", "I drink green tea.")); !errors.Is(err, memory.ErrForeign) || !strings.Contains(err.Error(), broken.Key) {
			t.Errorf("rule: a damaged item is an error that names it\n got: %v", err)
		}
		if got, err := store.Get(t.Context(), broken.Namespace, broken.Key); err != nil || string(got.Value) != damage {
			t.Errorf("rule: a damaged item is never overwritten\n got: %s, %v\nwant: %s", got.Value, err, damage)
		}
	}
}

// unreadable is a store whose reads fail.
type unreadable struct {
	longterm.Store
	err error
}

func (u unreadable) Get(ctx context.Context, ns []string, key string) (longterm.Item, error) {
	if u.err != nil {
		return longterm.Item{}, u.err
	}
	return u.Store.Get(ctx, ns, key)
}

// A memory that cannot be read is not empty: its items must not be overwritten.
//
// Requirement: an unreadable memory is overwritten
func TestOffload_DoesNotOverwriteForeignItems(t *testing.T) {
	store := unreadable{Store: new(longterm.Map)}
	offload(t, engine(t, memory.Config{Store: store}), ended("1", "I drink green tea."))
	before := stored(t, store)
	store.err = checkpoint.ErrUnavailable
	if err := engine(t, memory.Config{Store: store}).Offload(t.Context(), ended("2", "I drink green tea.", "My dog is called Byron.")); !errors.Is(err, checkpoint.ErrUnavailable) {
		t.Errorf("rule: a failed read is an error\n got: %v", err)
	}
	after := stored(t, store)
	for key, value := range before {
		if after[key] != value {
			t.Errorf("rule: an unreadable item is not changed\n got: %s\nwant: %s", after[key], value)
		}
	}
}

// stored returns all values of a store by key.
func stored(t *testing.T, s longterm.Store) map[string]string {
	t.Helper()
	page, err := s.Search(t.Context(), longterm.Query{})
	if err != nil || len(page.Items) == 0 {
		t.Fatalf("got %d items, %v", len(page.Items), err)
	}
	values := map[string]string{}
	for _, i := range page.Items {
		values[i.Key] = string(i.Value)
	}
	return values
}

func TestExtract_ByAModel(t *testing.T) {
	no := errors.New("no model")
	fail := true
	e := engine(t, memory.Config{Root: []string{"app", "people"}, Extract: func(_ context.Context, s session.Ended) ([]memory.Fact, error) {
		if fail {
			return nil, no
		}
		return []memory.Fact{{Text: "likes\x00 tea\xff", Sources: []memory.Source{{Message: "1-0"}, {Message: "never"}}}, {Text: " "}, {Text: "x" + strings.Repeat("ä", memory.MaxText)}, {Text: "nowhere said"}}, nil
	}})
	if err := e.Offload(t.Context(), ended("1", "Tea!")); !errors.Is(err, no) {
		t.Errorf("got %v, want the extraction's error", err)
	}
	fail = false
	offload(t, e, ended("1", "Tea!"))
	want(t, "texts are such as every store can keep", recall(t, e, "likes"), "likes tea\uFFFD")
	list, err := e.Recall(t.Context(), "ada", "nowhere", 0)
	if err != nil || len(list) != 1 || list[0].Sources[0].Session != "s-1" || !list[0].Sources[0].At.Equal(noon.Add(time.Hour)) {
		t.Errorf("rule: a fact without a message has at least its session\n got: %+v, %v", list, err)
	}
}

func TestUser_AnyName(t *testing.T) {
	e := engine(t, memory.Config{})
	for _, user := range []string{strings.Repeat("long", 500), "a\x00b", "\xff"} {
		s := ended("k"+fmt.Sprint(len(user)), "I drink green tea.")
		s.User = user
		offload(t, e, s)
		if list, err := e.Recall(t.Context(), user, "tea", 0); err != nil || len(list) != 1 {
			t.Errorf("user %.20q: got %v, %v", user, list, err)
		}
	}
	noUser := ended("n", "I drink green tea.")
	noUser.User = ""
	offload(t, e, noUser)
	if text, err := e.Bootstrap(t.Context(), ""); text != "" || err != nil {
		t.Errorf("rule: nothing is stored without a user\n got: %q, %v", text, err)
	}
	for _, cfg := range []memory.Config{{}, {Store: new(longterm.Map), Root: []string{"\x00"}}, {Store: new(longterm.Map), Known: -1}, {Store: new(longterm.Map), Known: longterm.MaxLimit + 1}} {
		if _, err := memory.New(cfg); !errors.Is(err, memory.ErrConfig) {
			t.Errorf("got %v, want ErrConfig", err)
		}
	}
}

func TestSessions_RememberTheirUsers(t *testing.T) {
	now := noon
	e := engine(t, memory.Config{})
	m, err := session.New(session.Config{Store: new(document.Map), Engine: e, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Create(t.Context(), session.Start{ID: "s", User: "ada", System: "Be brief."}); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Append(t.Context(), "s", message.User("I drink green tea.")); err != nil {
		t.Fatal(err)
	}
	if err := m.End(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	if _, err := (&session.Sweeper{Manager: m}).Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Create(t.Context(), session.Start{ID: "s", User: "ada", System: "Be brief."}); err != nil {
		t.Fatal(err)
	}
	log, err := m.Log(t.Context(), "s")
	if err != nil || len(log) != 1 || log[0].Text() != "Be brief.\n\nFrom earlier conversations:\n- I drink green tea. (2026-05-01)" {
		t.Errorf("got %v, %v", log, err)
	}
}

func Example() {
	ctx := context.Background()
	engine, _ := memory.New(memory.Config{Store: new(longterm.Map)}) // or a store that lasts
	said := message.User("I drink green tea. What about you?")
	said.ID = "m1"
	err := engine.Offload(ctx, session.Ended{Key: "k", ID: "monday", User: "ada", Messages: []message.Message{said}})
	known, _ := engine.Recall(ctx, "ada", "Which tea does she drink?", 3)
	for _, f := range known {
		fmt.Println(f.Text, "from", f.Sources[0].Session, f.Sources[0].Message, err)
	}
	// Output: I drink green tea. from monday m1 <nil>
}
