package graph_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
)

// speaksTokens is a node that sends these tokens: "id+text" is a delta, "id=text" the end of a
// message.
func speaksTokens(tokens ...string) graph.Node[world] {
	return graph.Func(func(ctx context.Context, _ *world) error { return speak(ctx, tokens...) })
}

func speak(ctx context.Context, tokens ...string) error {
	for _, s := range tokens {
		tok := graph.Token{Role: "assistant"}
		if id, text, ok := strings.Cut(s, "="); ok {
			tok.ID, tok.Text, tok.Final = id, text, true
		} else {
			tok.ID, tok.Delta, _ = strings.Cut(s, "+")
		}
		if err := graph.EmitMessage(ctx, tok); err != nil {
			return err
		}
	}
	return nil
}

// shown returns the text of a reader that prints deltas, and Text only if it was not streamed. A
// message that starts again is marked with <.
func shown(t *testing.T, events iter.Seq2[graph.Event, error]) string {
	t.Helper()
	var b strings.Builder
	for ev, err := range events {
		switch tok := ev.Token; {
		case err != nil:
			t.Error(err)
		case ev.Mode == graph.Messages && tok.Final && tok.Streamed:
			b.WriteString(".")
		case ev.Mode == graph.Messages && tok.Final:
			b.WriteString("[" + tok.Text + "]")
		case ev.Mode == graph.Messages && tok.Index == 0:
			b.WriteString("<" + tok.Delta)
		case ev.Mode == graph.Messages:
			b.WriteString(tok.Delta)
		}
	}
	return b.String()
}

func messages(t *testing.T, g *graph.Graph[world]) string {
	t.Helper()
	return shown(t, g.Stream(ctx, world{}, graph.RunOptions{Modes: graph.Messages}))
}

// TestMessages_AreShownOnce: what was streamed is not shown again at its end, nor
// when a later node repeats it; what was not streamed is shown as a whole.
//
// Requirement: events: messages
func TestMessages_AreShownOnce(t *testing.T) {
	b := graph.New[world]("talk")
	b.Node("a", speaksTokens("1+Hel", "1+lo", "1=Hello", "2=whole"))
	b.Node("b", speaksTokens("1=Hello", "2=whole", "3=new", "3=new"))
	b.Edge(graph.Start, "a")
	b.Edge("a", "b")
	b.Edge("b", graph.End)
	if got, want := messages(t, build(t, b, graph.Config{})), "<Hello.[whole]..[new]."; got != want {
		t.Errorf("the reader saw %q, want %q", got, want)
	}
}

// TestDebug_ReportsTheHistory checks that the commits of Debug are those of History, and that each
// is followed by its state.
func TestDebug_ReportsTheHistory(t *testing.T) {
	cfg := stored()
	b := graph.New[world]("debug")
	line(b, "a", "b")
	b.Node("sub", hosts(child(t, new(counter), graph.Config{}, nil), "", nil))
	b.Edge("b", "sub")
	b.Edge("sub", graph.End)
	g := build(t, b, cfg)
	var debug []graph.CommitInfo
	states := map[uint64]*world{}
	for ev, err := range g.Stream(ctx, world{}, graph.RunOptions{Thread: "t1", Modes: graph.Debug, Depth: 1}) {
		is(t, err, nil)
		switch ev.Mode {
		case graph.Checkpoints:
			if debug = append(debug, *ev.Commit); ev.Checkpoint != ev.Commit.Checkpoint || ev.Time.IsZero() {
				t.Errorf("the event %+v is not of its commit", ev)
			}
		case graph.Values:
			states[uint64(len(debug))] = ev.State.(*world)
		}
	}
	var stored []graph.CommitInfo
	for p, err := range graph.History(ctx, cfg.Store, checkpoint.Key{Thread: "t1"}, noQuery) {
		is(t, err, nil)
		stored = append([]graph.CommitInfo{p}, stored...)
	}
	if diff := cmp.Diff(stored, debug); diff != "" || len(debug) != 4 {
		t.Errorf("Debug reports %d commits, other than History (-stored +debug):\n%s", len(debug), diff)
	}
	for _, p := range stored {
		s, _, err := g.Thread("t1").State(ctx, p.Checkpoint)
		is(t, err, nil)
		want, _ := g.EncodeState(s)
		got, err := g.EncodeState(*states[p.Checkpoint])
		if err != nil || string(got) != string(want) {
			t.Errorf("commit %d holds %s, Debug reported %s, %v", p.Checkpoint, want, got, err)
		}
	}
}

// TestMessages_OfSilentModelsAreNotShown: in a node, in a subgraph, in a whole run.
//
// Requirement: events: messages
func TestMessages_OfSilentModelsAreNotShown(t *testing.T) {
	c := graph.New[inner]("child")
	c.Node("c", graph.Func(func(ctx context.Context, _ *inner) error { return speak(ctx, "sub+x", "sub=x") }))
	c.Edge(graph.Start, "c")
	c.Edge("c", graph.End)
	sub := build(t, c, graph.Config{})
	for quiet, want := range map[bool]string{true: "<loud.", false: "<x.<loud."} {
		b := graph.New[world]("silent")
		b.Node("a", hosts(sub, "", nil))
		b.Node("b", graph.Func(func(ctx context.Context, _ *world) error {
			if err := speak(graph.Silent(ctx), "secret+s", "secret=s"); err != nil {
				return err
			}
			return speak(ctx, "m+loud", "m=loud")
		}))
		b.Edge(graph.Start, "a")
		b.Edge("a", "b")
		b.Edge("b", graph.End)
		g := build(t, b, graph.Config{})
		if quiet {
			got := shown(t, g.Stream(graph.Silent(ctx), world{}, graph.RunOptions{Modes: graph.Messages}))
			if got != "" {
				t.Errorf("a silent run said %q", got)
			}
			got = shown(t, g.Stream(ctx, world{}, graph.RunOptions{Modes: graph.Messages, Depth: 1}))
			if got != want {
				t.Errorf("without subgraphs the reader saw %q, want %q", got, want)
			}
			continue
		}
		if got := messages(t, g); got != want {
			t.Errorf("the reader saw %q, want %q", got, want)
		}
	}
}

func TestMessages_HaveTheirPlace(t *testing.T) {
	g := single(t, graph.Func(func(ctx context.Context, _ *world) error {
		return graph.EmitMessage(ctx, graph.Token{ID: "m", Role: "assistant", Delta: "hi", Index: 9, Streamed: true,
			Metadata: map[string]string{"model": "small"}})
	}), graph.Policy{}, graph.Config{})
	for ev, err := range g.Stream(ctx, world{}, graph.RunOptions{Modes: graph.Messages}) {
		if is(t, err, nil); ev.Mode != graph.Messages {
			continue
		}
		want := graph.Token{ID: "m", Role: "assistant", Delta: "hi", Metadata: map[string]string{"model": "small"}}
		if diff := cmp.Diff(want, ev.Token); diff != "" || ev.Node != "a" || ev.Task == "" || ev.Step != 1 {
			t.Errorf("got %+v; the token differs (-want +got):\n%s", ev, diff)
		}
	}
}

func TestMessages_RetriedNodeStartsAgain(t *testing.T) {
	n := 0
	g := single(t, graph.Func(func(ctx context.Context, _ *world) error {
		if n++; n == 1 {
			return errors.Join(speak(ctx, "m+Hel", "m+lo"), errBoom)
		}
		return speak(ctx, "m+Good ", "m+day", "m=Good day")
	}), graph.Policy{Retry: graph.Retry{Attempts: 2, Initial: 1}}, graph.Config{})
	if got, want := messages(t, g), "<Hello<Good day."; got != want {
		t.Errorf("the reader saw %q, want %q", got, want)
	}
}

// The tokens of an attempt that was given up do not count for the next one.
func TestMessages_NodeThatWasGivenUpStartsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n atomic.Int32
		late, lost := make(chan struct{}), make(chan error, 1)
		g := single(t, graph.Func(func(ctx context.Context, _ *world) error {
			switch n.Add(1) {
			case 1:
				return errors.Join(speak(ctx, "m+Hel"), errBoom)
			case 2:
				if err := speak(ctx, "m+Hi"); err != nil {
					return err
				}
				<-late
				lost <- speak(ctx, "m+you")
				late <- struct{}{}
				return nil
			}
			err := speak(ctx, "m+Good ")
			late <- struct{}{}
			<-late
			return errors.Join(err, speak(ctx, "m+day", "m=Good day"))
		}), graph.Policy{Timeout: time.Second, Retry: graph.Retry{Attempts: 3, Initial: 1}}, graph.Config{Grace: time.Second})
		if got, want := messages(t, g), "<Hel<Hi<Good day."; got != want {
			t.Errorf("the reader saw %q, want %q", got, want)
		}
		is(t, <-lost, graph.ErrTimeout)
	})
}

// Requirement: events: messages
func TestMessages_ReaderThatMissedTokensGetsTheWhole(t *testing.T) {
	said, may := make(chan struct{}), make(chan struct{})
	g := single(t, graph.Func(func(ctx context.Context, _ *world) error {
		if err := speak(ctx, "m+Hel"); err != nil {
			return err
		}
		close(said)
		<-may
		return speak(ctx, "m+lo", "m=Hello", "m=Hello", "n+all", "n=all")
	}), graph.Policy{}, graph.Config{})
	for name, first := range map[string]graph.Mode{"with another reader": graph.Messages, "alone": graph.Updates} {
		t.Run(name, func(t *testing.T) {
			said, may = make(chan struct{}), make(chan struct{})
			live := g.Start(ctx, world{}, graph.RunOptions{Hold: true})
			early := live.Events(first)
			lossy := live.Join(graph.Reader{Modes: graph.Messages, Lossy: true, Buffer: 5})
			go func() { _, _ = live.Wait() }()
			<-said
			late := live.Events(graph.Messages)
			close(may)
			if got, want := shown(t, late), "lo[Hello].<all."; got != want {
				t.Errorf("the late reader saw %q, want %q", got, want)
			}
			if got := shown(t, early); first == graph.Messages && got != "<Hello..<all." {
				t.Errorf("the early reader saw %q", got)
			}
			_, _ = live.Wait()
			if got, want := shown(t, lossy), "[Hello].<all."; got != want { // the deltas and the room are gone
				t.Errorf("the lossy reader saw %q, want %q", got, want)
			}
		})
	}
}

func TestTokens_OfTwoMessagesDoNotMix(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := map[string]graph.Node[world]{}
		for i := range 20 {
			id := fmt.Sprint(i)
			nodes[id] = graph.Func(func(ctx context.Context, _ *world) error {
				for range 50 {
					if err := speak(ctx, id+"+x"); err != nil {
						return err
					}
				}
				return speak(ctx, id+"="+strings.Repeat("x", 50))
			})
		}
		texts := map[string]int{}
		for ev, err := range build(t, parallel(nodes), graph.Config{}).Stream(ctx, world{}, graph.RunOptions{Modes: graph.Messages}) {
			if is(t, err, nil); ev.Mode != graph.Messages {
				continue
			}
			if texts[ev.Token.ID] != ev.Token.Index || ev.Token.ID != ev.Node {
				t.Fatalf("token %+v of node %s comes after %d", ev.Token, ev.Node, texts[ev.Token.ID])
			}
			texts[ev.Token.ID]++
			if ev.Token.Final != ev.Token.Streamed {
				t.Errorf("the token %+v is wrongly marked", ev.Token)
			}
		}
		if len(texts) != 20 {
			t.Errorf("there were %d messages, want 20", len(texts))
		}
	})
}

func TestToken_NeedsAnID(t *testing.T) {
	is(t, graph.EmitMessage(ctx, graph.Token{Delta: "x"}), graph.ErrToken)
	is(t, graph.EmitMessage(ctx, graph.Token{ID: "m", Delta: "x"}), nil) // no run: a node can be tested alone
	_, err := lines(single(t, graph.Func(func(ctx context.Context, _ *world) error {
		return graph.EmitMessage(ctx, graph.Token{Delta: "x"})
	}), graph.Policy{}, graph.Config{}).Stream(ctx, world{}, graph.RunOptions{}))
	is(t, err, graph.ErrToken)
}

// TestMessages_OfAContextThatOutlivesItsAttempt is for the race detector.
func TestMessages_OfAContextThatOutlivesItsAttempt(t *testing.T) {
	left := make(chan struct{})
	stop := make(chan struct{})
	n := 0
	g := single(t, graph.Func(func(ctx context.Context, _ *world) error {
		if n++; n > 1 {
			return speak(ctx, "m+again")
		}
		begun := make(chan struct{})
		go func() {
			defer close(left)
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
					_ = speak(ctx, "m+late")
					if i == 0 {
						close(begun)
					}
				}
			}
		}()
		<-begun
		return errBoom
	}), graph.Policy{Retry: graph.Retry{Attempts: 2, Initial: 1}}, graph.Config{})
	live := g.Start(ctx, world{}, graph.RunOptions{})
	res, err := live.Wait()
	close(stop)
	<-left
	ended(t, graph.Done, res, err)
}
