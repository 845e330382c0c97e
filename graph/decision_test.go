package graph_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
)

// decisions describes the decisions of a thread, one a line.
func decisions(tb testing.TB, store checkpoint.Store, thread string) string {
	tb.Helper()
	var b strings.Builder
	for d, err := range graph.ThreadDecisions(ctx, store, thread) {
		if err != nil {
			tb.Fatal(err)
		}
		fmt.Fprintf(&b, "%s %s %s%s by %q via %s", d.Type, d.Node, d.Value, d.Message, d.By, d.Via)
		if len(d.Fields) > 0 {
			fmt.Fprintf(&b, " %v", d.Fields)
		}
		b.WriteString("\n")
		if d.Time.IsZero() || d.Checkpoint == 0 || d.Run == "" {
			tb.Errorf("the decision has no place or time: %+v", d)
		}
	}
	return b.String()
}

// through adds edges from Start through the nodes to End.
func through(b *graph.Builder[world], names ...string) {
	from := graph.Start
	for _, name := range names {
		b.Edge(from, name)
		from = name
	}
	b.Edge(from, graph.End)
}

// approvals is a graph of three nodes that ask one after the other.
func approvals(tb testing.TB, store checkpoint.Store) *graph.Graph[world] {
	b := graph.New[world]("approvals")
	var ran counter
	for _, name := range []string{"a", "b", "c"} {
		b.Node(name, asks(name, &ran, name+"?"))
	}
	through(b, "a", "b", "c")
	return build(tb, b, graph.Config{Store: store})
}

func by(who string) graph.RunOptions { return graph.RunOptions{Thread: "t", By: who} }

func wantDecisions(tb testing.TB, store checkpoint.Store, want string) {
	tb.Helper()
	if got := decisions(tb, store, "t"); got != want {
		tb.Errorf("the record is\n%swant\n%s", got, want)
	}
}

// Requirement: Decisions are recorded
func TestDecisions_AreStoredWithWhoWhenAndHow(t *testing.T) {
	store := new(checkpoint.Memory)
	g := approvals(t, store)
	invoke(t, g, "t", graph.Interrupted)
	wantDecisions(t, store, "")
	want := "respond a \"yes\" by \"anna\" via go\n"
	res, err := g.Resume(ctx, graph.Reply("yes"), by("anna"))
	ended(t, graph.Interrupted, res, err)
	wantDecisions(t, store, want)

	// A refused answer and an answer to a question that is not open are not decisions.
	if _, err := g.Resume(ctx, graph.Reply(7), by("anna")); !errors.Is(err, graph.ErrAnswer) {
		t.Fatal(err)
	}
	if _, err := g.Resume(ctx, graph.Answer("0123456789abcdef", "x"), by("anna")); !errors.Is(err, graph.ErrUnknownQuestion) {
		t.Fatal(err)
	}
	wantDecisions(t, store, want)

	// An answer may name another user, and a program the interface that the user had.
	o := by("anna")
	o.Via = graph.ViaHTTP
	res, err = g.Resume(ctx, graph.Decline(res.Interrupts[0].ID, "no time").By("ben"), o)
	if err == nil {
		t.Fatal("the run did not fail on a declined question")
	}
	want += "decline b no time by \"ben\" via http\n"
	wantDecisions(t, store, want)
	res, err = g.Patch(ctx, func(s *world) error { s.Name.Set("x"); s.Log.Append("y"); return nil }, by("carl"))
	ended(t, graph.Pending, res, err)
	wantDecisions(t, store, want+"change   by \"carl\" via go [name log]\n")
}

// An answer that is repeated, as after a crash, is one decision.
//
// Requirement: Decisions are recorded
func TestDecisions_RepeatedAnswerIsRecordedOnce(t *testing.T) {
	store := new(checkpoint.Memory)
	g := approvals(t, store)
	id := invoke(t, g, "t", graph.Interrupted).Interrupts[0].ID
	for range 3 {
		res, err := g.Resume(ctx, graph.Answer(id, "yes"), by("anna"))
		ended(t, graph.Interrupted, res, err)
	}
	wantDecisions(t, store, "respond a \"yes\" by \"anna\" via go\n")
}

// Requirement: Decisions are recorded
func TestDecisions_SurvivePruneBranchExportAndImport(t *testing.T) {
	store := new(checkpoint.Memory)
	g := approvals(t, store)
	invoke(t, g, "t", graph.Interrupted)
	for _, who := range []string{"anna", "ben", "carl"} {
		if _, err := g.Resume(ctx, graph.Reply(who), by(who)); err != nil {
			t.Fatal(err)
		}
	}
	want := "respond a \"anna\" by \"anna\" via go\nrespond b \"ben\" by \"ben\" via go\nrespond c \"carl\" by \"carl\" via go\n"
	wantDecisions(t, store, want)

	o := by("dora")
	o.At = 1
	res, err := g.Resume(ctx, graph.Answers{}, o) // a branch, which asks again
	ended(t, graph.Interrupted, res, err)
	wantDecisions(t, store, want)
	res, err = g.Resume(ctx, graph.Reply("dora"), by("dora"))
	ended(t, graph.Interrupted, res, err)
	want += "respond a \"dora\" by \"dora\" via go\n"
	wantDecisions(t, store, want)

	if err := checkpoint.Prune(ctx, store, "t", checkpoint.Keep{Last: 1}); err != nil {
		t.Fatal(err)
	}
	wantDecisions(t, store, want)
	var file bytes.Buffer
	if err := checkpoint.Export(ctx, store, "t", &file); err != nil || !strings.Contains(file.String(), `"by":"dora"`) {
		t.Fatalf("the file does not name the user who decided: %v", err)
	}
	other := new(checkpoint.Memory)
	if err := checkpoint.Import(ctx, other, "t", &file); err != nil {
		t.Fatal(err)
	}
	wantDecisions(t, other, want)
	if err := checkpoint.Reseal(ctx, other, "t", ""); err != nil {
		t.Fatal(err)
	}
	wantDecisions(t, other, want)
	res, err = approvals(t, other).Resume(ctx, graph.Reply("emil"), by("emil"))
	ended(t, graph.Interrupted, res, err)
	wantDecisions(t, other, want+"respond b \"emil\" by \"emil\" via go\n")
	if err := store.Delete(ctx, "t"); err != nil {
		t.Fatal(err)
	}
	for _, err := range graph.ThreadDecisions(ctx, store, "t") {
		if !errors.Is(err, graph.ErrUnknownThread) {
			t.Errorf("got %v", err)
		}
	}
}

// A branch that begins while a decision is a pending write does not lose the decision.
func TestDecisions_PendingSurviveABranch(t *testing.T) {
	store := new(checkpoint.Memory)
	b := parallel(map[string]graph.Node[world]{"a": asks("a", new(counter), "a?"), "b": asks("b", new(counter), "b?")})
	g := build(t, b, graph.Config{Store: store})
	res := invoke(t, g, "t", graph.Interrupted)
	res, err := g.Resume(ctx, graph.Answer(idOf(t, res, "a?"), "yes"), by("anna"))
	ended(t, graph.Interrupted, res, err)
	want := "respond a \"yes\" by \"anna\" via go\n"
	wantDecisions(t, store, want)
	res, err = g.Edit(ctx, [][]graph.Edit[world]{{{Do: func(s *world) (graph.Command, error) { s.Name.Set("x"); return graph.Command{}, nil }}}}, by("ben"))
	ended(t, graph.Interrupted, res, err)
	want += "change   by \"ben\" via go [name]\n"
	wantDecisions(t, store, want)
	o := by("carl")
	o.At = 1
	res, err = g.Resume(ctx, graph.Answers{}, o)
	ended(t, graph.Interrupted, res, err)
	want += "discard b  by \"carl\" via go\n"
	wantDecisions(t, store, want)
	res, err = g.Invoke(ctx, world{}, graph.RunOptions{Thread: "t", OnOpenQuestions: graph.Discard})
	ended(t, graph.Interrupted, res, err)
	wantDecisions(t, store, want+"discard a  by \"\" via go\ndiscard b  by \"\" via go\n")
}

// An input or an edit that closes a question is recorded as a discard, on the branch where the
// question was open.
//
// Requirement: Decisions are recorded
func TestDecisions_DiscardedQuestionIsRecorded(t *testing.T) {
	discard := by("ben")
	discard.OnOpenQuestions = graph.Discard
	rewrite := func(as string) []graph.Edit[world] {
		return []graph.Edit[world]{{As: as, Do: func(s *world) (graph.Command, error) { s.Name.Set("x"); return graph.Command{}, nil }}}
	}
	for name, c := range map[string]struct {
		do   func(g *graph.Graph[world]) (graph.Result[world], error)
		want string
	}{
		"input": {func(g *graph.Graph[world]) (graph.Result[world], error) { return g.Invoke(ctx, world{}, discard) },
			"discard b  by \"ben\" via go\n"},
		"input that goes back": {func(g *graph.Graph[world]) (graph.Result[world], error) {
			o := discard
			o.At = 1
			return g.Invoke(ctx, world{}, o)
		}, "discard b  by \"ben\" via go\n"},
		"resume that goes back": {func(g *graph.Graph[world]) (graph.Result[world], error) {
			o := by("ben")
			o.At = 1
			return g.Resume(ctx, graph.Answers{}, o)
		}, "discard b  by \"ben\" via go\n"},
		"edit as start": {func(g *graph.Graph[world]) (graph.Result[world], error) {
			return g.Edit(ctx, [][]graph.Edit[world]{rewrite(graph.Start)}, by("ben"))
		}, "change __start__  by \"ben\" via go [name]\ndiscard b  by \"ben\" via go\n"},
		"edit as end": {func(g *graph.Graph[world]) (graph.Result[world], error) {
			return g.Edit(ctx, [][]graph.Edit[world]{rewrite(graph.End)}, by("ben"))
		}, "change __end__  by \"ben\" via go [name]\ndiscard b  by \"ben\" via go\n"},
		"edit as the node": {func(g *graph.Graph[world]) (graph.Result[world], error) {
			return g.Edit(ctx, [][]graph.Edit[world]{rewrite("b")}, by("ben"))
		}, "change b  by \"ben\" via go [name]\ndiscard b  by \"ben\" via go\n"},
		"edit of values": {func(g *graph.Graph[world]) (graph.Result[world], error) {
			return g.Edit(ctx, [][]graph.Edit[world]{rewrite("")}, by("ben"))
		}, "change   by \"ben\" via go [name]\n"},
	} {
		t.Run(name, func(t *testing.T) {
			store := new(checkpoint.Memory)
			g := approvals(t, store)
			invoke(t, g, "t", graph.Interrupted)
			res, err := g.Resume(ctx, graph.Reply("yes"), by("anna"))
			ended(t, graph.Interrupted, res, err)
			if res, err = c.do(g); err != nil {
				t.Fatal(err)
			}
			want := strings.Split("respond a \"yes\" by \"anna\" via go\n"+c.want, "\n")
			got := strings.Split(decisions(t, store, "t"), "\n")
			slices.Sort(got) // the discard is a pending write of the commit before the change
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("the record is\n%q, want\n%q", got, want)
			}
			for d, err := range g.Thread("t").Decisions(ctx) {
				if err != nil {
					t.Fatal(err)
				}
				if d.Type == graph.DecisionDiscard && (d.Question == "" || d.Prompt != d.Node+"?") {
					t.Errorf("the decision does not name the question: %+v", d)
				}
			}
			if !strings.Contains(c.want, "discard") || strings.Contains(name, "goes back") { // that is another branch
				return
			}
			d, err := g.Thread("t").Diff(ctx, 1, res.Checkpoint)
			if err != nil || !slices.ContainsFunc(d.Decisions, func(d graph.DecisionRecord) bool { return d.Type == graph.DecisionDiscard }) {
				t.Errorf("the difference has the decisions %+v, %v", d.Decisions, err)
			}
		})
	}
}

// An input ends a turn that has questions of a subgraph and an expired question.
func TestDecisions_DiscardInASubgraphAndAfterExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(checkpoint.Memory)
		c := graph.New[world]("child")
		c.Node("q", asks("q", new(counter), "q?"))
		through(c, "q")
		child := build(t, c, graph.Config{})
		b := parallel(map[string]graph.Node[world]{
			"sub": graph.Subgraph(child, func(*world) (world, error) { return world{}, nil }, func(*world, *world) error { return nil }),
			"a": graph.Func(func(ctx context.Context, _ *world) error {
				_, err := graph.Ask[string](ctx, graph.Question{Prompt: "a?", Timeout: time.Minute})
				return err
			}),
		})
		g := build(t, b, graph.Config{Store: store})
		invoke(t, g, "t", graph.Interrupted)
		time.Sleep(2 * time.Minute)
		o := by("anna")
		o.OnOpenQuestions, o.Modes = graph.Discard, graph.Decisions
		var emitted []string
		for ev, err := range g.Stream(ctx, world{}, o) {
			if err != nil {
				t.Fatal(err)
			}
			if ev.Mode == graph.Decisions {
				emitted = append(emitted, fmt.Sprint(ev.Decision.Type, " ", ev.Decision.Node))
			}
		}
		wantDecisions(t, store, "expire a  by \"\" via expiry\ndiscard q  by \"anna\" via go\n")
		if want := []string{"expire a", "discard q"}; !slices.Equal(emitted, want) {
			t.Errorf("the events are %q, want %q", emitted, want)
		}
	})
}

// The question has expired when an input ends its turn, so the input needs no Discard.
func TestDecisions_InputAfterExpiryRecordsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(checkpoint.Memory)
		b := graph.New[world]("g")
		b.Node("a", graph.Func(func(ctx context.Context, _ *world) error {
			_, err := graph.Ask[string](ctx, graph.Question{Prompt: "a?", Timeout: time.Minute})
			return err
		}))
		through(b, "a")
		g := build(t, b, graph.Config{Store: store})
		invoke(t, g, "t", graph.Interrupted)
		time.Sleep(2 * time.Minute)
		invoke(t, g, "t", graph.Interrupted)
		wantDecisions(t, store, "expire a  by \"\" via expiry\n")
	})
}

func TestDecisions_ExpiryIsRecordedWhenItTakesEffect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(checkpoint.Memory)
		b := graph.New[world]("g")
		b.Node("a", graph.Func(func(ctx context.Context, s *world) error {
			_, d, err := graph.Decide[string](ctx, graph.Question{Prompt: "a?", Timeout: time.Minute})
			if errors.Is(err, graph.ErrExpired) {
				s.Name.Set(string(d.Type) + " " + d.Via)
				return nil
			}
			return err
		}))
		through(b, "a")
		g := build(t, b, graph.Config{Store: store})
		invoke(t, g, "t", graph.Interrupted)
		time.Sleep(2 * time.Minute)
		wantDecisions(t, store, "")
		res, err := g.Resume(ctx, graph.Answers{}, by("anna"))
		ended(t, graph.Done, res, err)
		wantDecisions(t, store, "expire a  by \"\" via expiry\n")
		if got := res.State.Name.Get(); got != "expire expiry" {
			t.Errorf("the node got %q", got)
		}
	})
}

// The node gets the name of the user who decided, also after a crash between the answer and its
// step.
func TestDecide_ReportsWhoAnswered(t *testing.T) {
	store := new(checkpoint.Memory)
	fail := true
	b := graph.New[world]("g")
	b.Node("a", graph.Func(func(ctx context.Context, s *world) error {
		v, d, err := graph.Decide[map[string]any](ctx, graph.Question{Prompt: "a?"})
		if err != nil {
			return err
		}
		if fail {
			return errors.New("cut off")
		}
		s.Name.Set(fmt.Sprint(v["action"], " ", d.Type, " ", string(d.Args), " ", d.By, " ", d.Via))
		return nil
	}))
	through(b, "a")
	g := build(t, b, graph.Config{Store: store})
	invoke(t, g, "t", graph.Interrupted)
	o := by("anna")
	o.Via = graph.ViaChat
	if _, err := g.Resume(ctx, graph.Reply(map[string]any{"action": "edit", "arguments": map[string]any{"n": 5}}), o); err == nil {
		t.Fatal("the node does not fail")
	}
	fail = false
	res, err := g.Resume(ctx, graph.Answers{}, by("ben"))
	ended(t, graph.Done, res, err)
	if got := res.State.Name.Get(); got != `edit edit {"n":5} anna chat` {
		t.Errorf("the node got %q", got)
	}
}

func TestDecisions_AreEmitted(t *testing.T) {
	g := approvals(t, new(checkpoint.Memory))
	invoke(t, g, "t", graph.Interrupted)
	o := by("anna")
	o.Modes = graph.Decisions
	var got []string
	for ev, err := range g.StreamResume(ctx, graph.Reply("yes"), o) {
		if err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(ev)
		if err != nil {
			t.Fatal(err)
		}
		if ev.Mode == graph.Decisions {
			got = append(got, string(data))
		}
	}
	if len(got) != 1 || !strings.Contains(got[0], `"mode":"decisions"`) || !strings.Contains(got[0], `"by":"anna"`) || !strings.Contains(got[0], `"value":"yes"`) {
		t.Errorf("the events are %s", got)
	}
}

// The value of a secret answer is stored only if the store encrypts, and is never shown.
//
// Requirement: Decisions are recorded
func TestDecisions_SecretIsSealedOrLeftOut(t *testing.T) {
	const pin = "8154711008154711" // so long that no id of the run has it by chance
	for name, sealed := range map[string]bool{"plain": false, "sealed": true} {
		t.Run(name, func(t *testing.T) {
			memory := new(checkpoint.Memory)
			var store checkpoint.Store = memory
			if sealed {
				var err error
				keys := &checkpoint.Keys{Current: "k", Ring: map[string][]byte{"k": checkpoint.NewKey()}}
				if store, err = checkpoint.Sealed(memory, checkpoint.Codec{Keys: keys}); err != nil {
					t.Fatal(err)
				}
			}
			b := graph.New[world]("g")
			b.Node("a", graph.Func(func(ctx context.Context, s *world) error {
				_, err := graph.Ask[string](ctx, graph.Question{Prompt: "PIN?", Secret: true})
				return err
			}))
			through(b, "a")
			g := build(t, b, graph.Config{Store: store})
			invoke(t, g, "t", graph.Interrupted)
			o := by("anna")
			o.Modes = graph.Decisions
			for ev, err := range g.StreamResume(ctx, graph.Reply(pin), o) {
				if err != nil || ev.Decision != nil && (!ev.Decision.Secret || ev.Decision.Value != nil) {
					t.Errorf("the event shows %+v, %v", ev.Decision, err)
				}
			}
			want := ""
			if sealed {
				want = `"` + pin + `"`
			}
			for d, err := range g.Thread("t").Decisions(ctx) {
				if err != nil || string(d.Value) != want || !d.Secret {
					t.Errorf("the record has %+v, %v", d, err)
				}
			}
			diff, err := g.Thread("t").Diff(ctx, 1, 2)
			if err != nil || len(diff.Decisions) != 1 || diff.Decisions[0].Value != nil {
				t.Errorf("the difference shows %+v, %v", diff.Decisions, err)
			}
			snap, err := memory.Load(ctx, checkpoint.Key{Thread: "t"}, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, blob := range snap.Blobs {
				if bytes.Contains(blob.Data, []byte(pin)) {
					t.Errorf("the store holds the secret in the clear: %s", blob.Data)
				}
			}
		})
	}
}

func TestRunBy_ThatIsNoTextIsRefused(t *testing.T) {
	g := approvals(t, new(checkpoint.Memory))
	invoke(t, g, "t", graph.Interrupted)
	for _, name := range []string{"a\nb", "\xff", strings.Repeat("x", 257), "pay\u202eeve", "\u2066x", "a\u200fb", "a\u2028b"} {
		if _, err := g.Resume(ctx, graph.Reply("x"), by(name)); !errors.Is(err, graph.ErrBy) {
			t.Errorf("%.10q: %v", name, err)
		}
		if _, err := g.Resume(ctx, graph.Reply("x").By(name), by("anna")); !errors.Is(err, graph.ErrBy) {
			t.Errorf("an answer of %.10q: %v", name, err)
		}
		o := by("anna")
		o.Via = name
		if _, err := g.Resume(ctx, graph.Reply("x"), o); !errors.Is(err, graph.ErrBy) {
			t.Errorf("through %.10q: %v", name, err)
		}
	}
}

// forgetsAll is a store that loses all its threads before its next commit.
type forgetsAll struct {
	checkpoint.Store
	forgets bool
}

func (f *forgetsAll) Commit(ctx context.Context, c checkpoint.Commit) error {
	if f.forgets {
		f.Store, f.forgets = new(checkpoint.Memory), false
	}
	return f.Store.Commit(ctx, c)
}

func TestDecisions_RecordedOnceAfterALostThread(t *testing.T) {
	store := &forgetsAll{Store: new(checkpoint.Memory)}
	g := approvals(t, store)
	invoke(t, g, "t", graph.Interrupted)
	store.forgets = true
	o := by("ben")
	o.OnOpenQuestions = graph.Discard
	res, err := g.Invoke(ctx, world{}, o)
	ended(t, graph.Interrupted, res, err)
	wantDecisions(t, store, "discard a  by \"ben\" via go\n")
}
