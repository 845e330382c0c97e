package golden

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/checkpoint/memory"
	"github.com/weftrun/weft/graph"
)

// Stored is a golden store that is open. Documents and Memory are nil where only threads are
// looked at.
type Stored struct {
	Threads   checkpoint.Store
	Documents document.Store
	Memory    memory.Store
}

// storedThread is all that is compared of a thread, before it goes on and after.
type storedThread struct {
	Inspect json.RawMessage     `json:"inspect"`
	Chains  map[string][]commit `json:"chains"` // by namespace; the newest commit first
	Diff    json.RawMessage     `json:"diff,omitempty"`
	After   *after              `json:"after,omitempty"`
}

// commit is one commit of a chain.
type commit struct {
	Point   json.RawMessage `json:"point"`
	State   json.RawMessage `json:"state"`
	Pending []entry         `json:"pending,omitempty"` // the pending writes
}

type entry struct {
	Task string          `json:"task,omitempty"`
	Slot string          `json:"slot"`
	Data json.RawMessage `json:"data"`
}

// after is how a thread ends when its questions have been answered.
type after struct {
	Answered int             `json:"answered"`
	State    json.RawMessage `json:"state"`
}

// encode returns v as JSON without the name of its thread.
func encode(v any, thread string) (json.RawMessage, error) {
	data, err := json.Marshal(v)
	name, _ := json.Marshal(thread)
	return []byte(strings.ReplaceAll(string(data), `"thread":`+string(name), `"thread":""`)), err
}

// state returns the state of a commit in the schema of its graph.
func (g graphs) state(ctx context.Context, p graph.CommitInfo) (json.RawMessage, error) {
	node := p.Namespace[strings.LastIndexByte(p.Namespace, '|')+1:] // node:task, or node/graph
	if n := strings.IndexAny(node, ":/"); n >= 0 {
		node = node[:n]
	}
	switch {
	case p.Namespace == "":
		return encoded(ctx, g.root, p)
	case node == "inline":
		return encoded(ctx, g.inline, p)
	case node == "m":
		return encoded(ctx, g.children["call"], p)
	default:
		c := g.children[node]
		if c == nil {
			return nil, fmt.Errorf("no graph for namespace %q", p.Namespace)
		}
		return encoded(ctx, c, p)
	}
}

func encoded[S any](ctx context.Context, g *graph.Graph[S], p graph.CommitInfo) (json.RawMessage, error) {
	s, _, err := g.Thread(p.Thread).In(p.Namespace).State(ctx, p.Checkpoint)
	if err != nil {
		return nil, err
	}
	return g.EncodeState(s)
}

// read reads all of a thread.
func read(ctx context.Context, store checkpoint.Store, thread string) (t storedThread, err error) {
	g, err := compile(config(store, "read"))
	if err != nil {
		return t, err
	}
	p, err := graph.Inspect(ctx, store, checkpoint.Key{Thread: thread})
	if err != nil {
		return t, err
	}
	if t.Inspect, err = encode(p, thread); err != nil {
		return t, err
	}
	spaces, err := graph.Namespaces(ctx, store, thread)
	if err != nil {
		return t, err
	}
	t.Chains = map[string][]commit{}
	first := p.Checkpoint
	for _, ns := range append(spaces, "") {
		for p, err := range graph.History(ctx, store, checkpoint.Key{Thread: thread, Namespace: ns}, checkpoint.Query{}) {
			if err != nil {
				return t, err
			}
			c, err := g.commit(ctx, store, p)
			if err != nil {
				return t, fmt.Errorf("namespace %q, commit %d: %w", ns, p.Checkpoint, err)
			}
			t.Chains[ns] = append(t.Chains[ns], c)
			if ns == "" {
				first = p.Checkpoint
			}
		}
	}
	d, err := g.root.Thread(thread).Diff(ctx, first, p.Checkpoint)
	if err != nil {
		return t, fmt.Errorf("diff of %d and %d: %w", first, p.Checkpoint, err)
	}
	t.Diff, err = encode(d, thread)
	return t, err
}

func (g graphs) commit(ctx context.Context, store checkpoint.Store, p graph.CommitInfo) (c commit, err error) {
	var errs [3]error
	c.Point, errs[0] = encode(p, p.Thread)
	c.State, errs[1] = g.state(ctx, p)
	snap, err := store.Load(ctx, checkpoint.Key{Thread: p.Thread, Namespace: p.Namespace}, p.Checkpoint)
	if err == nil && snap.Seq == snap.Head {
		var list []checkpoint.Entry
		list, errs[2] = checkpoint.ReadPending(snap)
		for _, e := range list {
			c.Pending = append(c.Pending, entry{e.Task, e.Slot, e.Data})
		}
	}
	return c, errors.Join(err, errs[0], errs[1], errs[2])
}

// finish answers all questions of a thread with "yes" until it has ended.
func finish(ctx context.Context, store checkpoint.Store, thread string) (a after, err error) {
	g, err := compile(config(store, "finish "+thread))
	if err != nil {
		return a, err
	}
	o := graph.RunOptions{Thread: thread}
	o.Lease.Policy = checkpoint.TakeOver
	for range 20 {
		p, err := graph.Inspect(ctx, store, checkpoint.Key{Thread: thread})
		if err != nil {
			return a, err
		}
		if p.Status == graph.Done {
			s, _, err := g.root.Thread(thread).State(ctx, 0)
			if err == nil {
				a.State, err = g.root.EncodeState(s)
			}
			return a, err
		}
		var answers graph.Answers
		for _, in := range p.Interrupts {
			if in.Kind == "question" {
				answers = answers.Answer(in.ID, "yes")
				a.Answered++
			}
		}
		if _, err := g.root.Resume(ctx, answers, o); err != nil {
			return a, err
		}
	}
	return a, errors.New("the thread does not end")
}
