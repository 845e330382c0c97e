package graph_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/weftrun/weft/graph"
)

func TestZeroGraph_IsNotCompiled(t *testing.T) {
	var g graph.Graph[world]
	p := g.Untyped()
	raw := json.RawMessage(`{}`)
	for name, call := range map[string]func() error{
		"Invoke": func() error { _, err := g.Invoke(ctx, world{}, t1); return err },
		"Resume": func() error { _, err := g.Resume(ctx, graph.Answers{}, t1); return err },
		"Start":  func() error { _, err := g.Start(ctx, world{}, t1).Wait(); return err },
		"StartResume": func() error {
			_, err := g.StartResume(ctx, graph.Answers{}, graph.RunOptions{Hold: true}).Wait()
			return err
		},
		"Stream": func() (err error) {
			for _, err = range g.Stream(ctx, world{}, t1) {
			}
			return err
		},
		"StreamResume": func() (err error) {
			for _, err = range g.StreamResume(ctx, graph.Answers{}, t1) {
			}
			return err
		},
		"Patch":           func() error { _, err := g.Patch(ctx, func(*world) error { return nil }, t1); return err },
		"Edit":            func() error { _, err := g.Edit(ctx, nil, t1); return err },
		"UpdateAndResume": func() error { _, err := g.UpdateAndResume(ctx, graph.Edit[world]{}, graph.Answers{}, t1); return err },
		"Call":            func() error { _, err := g.Call(ctx, world{}); return err },
		"Go":              func() error { _, err := g.Go(ctx, world{}).Wait(ctx); return err },
		"Thread.State":    func() error { _, _, err := g.Thread("t1").State(ctx, 0); return err },
		"Thread.Diff":     func() error { _, err := g.Thread("t1").Diff(ctx, 1, 2); return err },
		"Thread.Replay":   func() error { _, err := g.Thread("t1").Replay(ctx, 0, 0); return err },
		"Thread.Draw":     func() error { _, err := g.Thread("t1").Draw(ctx, 0, 0); return err },
		"ClearCache":      func() error { return g.ClearCache(ctx) },
		"InputHash":       func() error { _, err := g.InputHash(world{}); return err },
		"EncodeState":     func() error { _, err := g.EncodeState(world{}); return err },
		"DecodeInput":     func() error { _, err := g.DecodeInput(raw); return err },
		"Untyped.Invoke":  func() error { _, err := p.Invoke(ctx, raw, t1); return err },
		"Untyped.Resume":  func() error { _, err := p.Resume(ctx, graph.Answers{}, t1); return err },
		"Untyped.Start":   func() error { _, err := p.Start(ctx, raw, t1).Wait(); return err },
		"Untyped.Patch":   func() error { _, err := p.Patch(ctx, raw, t1); return err },
		"Untyped.State":   func() error { _, _, err := p.Thread("t1").State(ctx, 0); return err },
		"Untyped.Hash":    func() error { _, err := p.InputHash(raw); return err },
		"a Handle's Drain": func() error {
			l := g.Start(ctx, world{}, t1)
			l.Drain("x")
			l.Cancel(nil)
			_, err := l.Wait()
			return err
		},
	} {
		if err := call(); !errors.Is(err, graph.ErrNotCompiled) {
			t.Errorf("%s: got %v, want %v", name, err, graph.ErrNotCompiled)
		}
	}
	if d := g.Draw(1); g.Name() != "" || len(d.Nodes) != 0 || d.Mermaid()+d.DOT()+d.Text() == "" {
		t.Errorf("it is called %q and drawn as %v", g.Name(), d)
	}
}

// Compile returns a nil graph beside its error, which a caller may look at later.
func TestNilGraph_IsNotCompiled(t *testing.T) {
	var none *graph.Graph[world]
	if _, err := none.Untyped().Invoke(ctx, json.RawMessage(`{}`), t1); !errors.Is(err, graph.ErrNotCompiled) {
		t.Errorf("got %v, want %v", err, graph.ErrNotCompiled)
	}
}

func TestZeroGraph_IsNoChild(t *testing.T) {
	var none graph.Graph[world]
	b := graph.New[world]("parent")
	b.Node("inline", graph.Inline(&none))
	b.Node("sub", graph.Subgraph(&none, func(*world) (world, error) { return world{}, nil }, func(*world, *world) error { return nil }))
	b.Node("calls", graph.Func(func(ctx context.Context, _ *world) error { _, err := none.Call(ctx, world{}); return err }))
	for _, name := range []string{"inline", "sub", "calls"} {
		b.Edge(graph.Start, name)
		b.Edge(name, graph.End)
	}
	_, err := b.Compile(graph.Config{})
	var mistakes *graph.CompileError
	if !errors.As(err, &mistakes) || !strings.Contains(err.Error(), "an Inline needs a graph") || !strings.Contains(err.Error(), "a Subgraph needs a graph") {
		t.Errorf("got %v, want mistakes of both", err)
	}
}

func TestZeroBuilder_IsAGraphWithoutAName(t *testing.T) {
	var b graph.Builder[world]
	line(&b, "a")
	b.At("here").Defer("a")
	b.Defaults(graph.Policy{})
	if _, err := b.Compile(graph.Config{}); err == nil || !strings.Contains(err.Error(), "the graph has no name") || strings.Count(err.Error(), "_test.go:") != 1 {
		t.Errorf("got %v, want that it has no name, and nothing else", err)
	}
	for name, add := range map[string]func(b *graph.Builder[world]){
		"Compile":  func(*graph.Builder[world]) {},
		"Edge":     func(b *graph.Builder[world]) { b.Edge("a", "b") },
		"Join":     func(b *graph.Builder[world]) { b.Join("a", "b") },
		"Branch":   func(b *graph.Builder[world]) { b.Branch("a", nil) },
		"Defer":    func(b *graph.Builder[world]) { b.Defer("a") },
		"OnError":  func(b *graph.Builder[world]) { b.OnError("a", graph.ErrorHandler[world]{}) },
		"At":       func(b *graph.Builder[world]) { b.At("here").Edge("a", "b") },
		"the node": func(b *graph.Builder[world]) { b.Node("a", graph.Node[world]{}) },
	} {
		var b graph.Builder[world]
		add(&b)
		var mistakes *graph.CompileError
		if _, err := b.Compile(graph.Config{}); !errors.As(err, &mistakes) {
			t.Errorf("%s: got %v, want a CompileError", name, err)
		}
	}
}

func TestZeroValues_DoNotPanic(t *testing.T) {
	var l graph.Handle[world]
	_, err := l.Wait()
	is(t, err, graph.ErrNotCompiled)
	l.Drain("x")
	l.Cancel(nil)
	for _, err := range l.Events(graph.Updates) {
		is(t, err, graph.ErrNotCompiled)
	}
	var f graph.Future[int]
	f.Cancel()
	_, err = f.Wait(ctx)
	is(t, err, graph.ErrNoTask)
	if s := new(graph.NodeError).Error() + new(graph.TimeoutError).Error() + new(graph.CompileError).Error() + l.ID(); s == "" {
		t.Error("zero errors say nothing")
	}
}
