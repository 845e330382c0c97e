package server

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/server/wire"
)

// inject starts a run with a message as its input.
func inject(c *call, t thread, raw json.RawMessage) (any, error) {
	var p struct {
		Namespace []string        `json:"namespace"`
		Message   json.RawMessage `json:"message"`
	}
	if err := params(raw, &p); err != nil {
		return nil, err
	}
	if len(p.Namespace) > 0 {
		return nil, &commandFault{wire.CommandNotSupported, "a message goes to the thread itself"}
	}
	shown, err := c.shownOf(t, useRead)
	if err != nil {
		return nil, err
	}
	if absent(p.Message) || len(shown.graph.messages) == 0 {
		return nil, badCommand("message must be set, and the thread's graph must have messages")
	}
	q, err := c.again(t.ThreadID)
	if err != nil {
		return nil, err
	}
	if q.Input, err = encode(map[string][]json.RawMessage{shown.graph.messages[0]: {p.Message}}); err != nil {
		return nil, err
	}
	return c.start(q)
}

// inPath returns a thread in a namespace of the protocol.
func (c *call) inPath(t thread, path []string) (shownThread, error) {
	shown, err := c.shownOf(t, useRead)
	if err != nil {
		return shown, err
	}
	if shown, err = shown.inWire(c.Context(), strings.Join(path, "|")); err != nil {
		return shown, &commandFault{wire.CommandNoNamespace, "there is no such namespace"}
	}
	return shown, nil
}

type checkpointRef struct {
	ID        string   `json:"id"`
	Namespace []string `json:"ns"`
}

// commandState returns the newest state.
func commandState(c *call, t thread, raw json.RawMessage) (any, error) {
	var p struct {
		Namespace []string `json:"namespace"`
		Keys      []string `json:"keys"`
	}
	if err := params(raw, &p); err != nil {
		return nil, err
	}
	shown, err := c.inPath(t, p.Namespace)
	if err != nil {
		return nil, err
	}
	state, err := c.stateAt(shown, "", false)
	if err != nil {
		return nil, err
	}
	result := struct {
		Values     json.RawMessage `json:"values"`
		Checkpoint *checkpointRef  `json:"checkpoint"`
	}{Values: selected(state.Values, p.Keys)}
	if at := state.Checkpoint; at != nil && at.CheckpointID != nil {
		result.Checkpoint = &checkpointRef{*at.CheckpointID, []string{}}
		if at.CheckpointNS != "" {
			result.Checkpoint.Namespace = strings.Split(at.CheckpointNS, "|")
		}
	}
	return result, nil
}

type checkpointSummary struct {
	ID        string          `json:"id"`
	Timestamp string          `json:"timestamp"`
	Step      int64           `json:"step"`
	Metadata  json.RawMessage `json:"metadata"`
}

// listCheckpoints returns the history without its states.
func listCheckpoints(c *call, t thread, raw json.RawMessage) (any, error) {
	var p struct {
		Namespace []string `json:"namespace"`
		Limit     *int     `json:"limit"`
		Before    string   `json:"before"`
	}
	if err := params(raw, &p); err != nil {
		return nil, err
	}
	shown, err := c.inPath(t, p.Namespace)
	if err != nil {
		return nil, err
	}
	q := historyRequest{page: page{Limit: p.Limit}}
	if p.Before != "" {
		q.Before, _ = json.Marshal(p.Before) // of a string
	}
	states, err := c.states(shown, q)
	if err != nil {
		return nil, err
	}
	list := []checkpointSummary{}
	for _, s := range states {
		list = append(list, checkpointSummary{
			gjson.GetBytes(s, "checkpoint.checkpoint_id").String(), gjson.GetBytes(s, "created_at").String(),
			gjson.GetBytes(s, "metadata.step").Int(), json.RawMessage(gjson.GetBytes(s, "metadata").Raw),
		})
	}
	return map[string]any{"checkpoints": list}, nil
}

// forkState starts a run from a checkpoint.
func forkState(c *call, t thread, raw json.RawMessage) (any, error) {
	var p struct {
		Checkpoint string          `json:"checkpoint_id"`
		Input      json.RawMessage `json:"input"`
		Config     *wire.Config    `json:"config"`
	}
	if err := params(raw, &p); err != nil {
		return nil, err
	}
	if p.Checkpoint == "" {
		return nil, badCommand("checkpoint_id must be set")
	}
	q, err := c.again(t.ThreadID)
	if err != nil {
		return nil, err
	}
	if q.CheckpointID, q.Input = p.Checkpoint, p.Input; q.Config != nil {
		merged := mergeConfig(*q.Config, p.Config)
		delete(merged.Configurable, "checkpoint_id")
		q.Config = &merged
	}
	made, err := c.enqueue(q)
	if err != nil {
		return nil, err
	}
	return struct {
		Run    string `json:"run_id"`
		Thread string `json:"thread_id"`
	}{made.run.ID, t.ThreadID}, nil
}

// treeNode is a graph that ran, with those inside it.
type treeNode struct {
	Namespace []string    `json:"namespace"`
	Status    string      `json:"status"`
	Graph     string      `json:"graph_name"`
	Children  []*treeNode `json:"children"`
}

// treeStatuses are the statuses of the protocol.
var treeStatuses = map[graph.Status]string{
	graph.Done: "completed", graph.Failed: "failed", graph.Interrupted: "interrupted", graph.Pending: "running",
}

// getTree answers with the graphs of the newest run.
func getTree(c *call, t thread, _ json.RawMessage) (any, error) {
	tree, err := c.tree(t)
	return map[string]*treeNode{"tree": tree}, err
}

// tree returns the graphs of the newest run.
func (c *call) tree(t thread) (*treeNode, error) {
	ctx, store := c.Context(), c.server.config.Store
	shown, err := c.shownOf(t, useRead)
	if err != nil {
		return nil, err
	}
	root := &treeNode{Namespace: []string{}, Status: "started", Graph: shown.graphID, Children: []*treeNode{}}
	newest, err := c.server.rootOf(ctx, t.ThreadID)
	if err != nil {
		return root, ignoreUnknown(err)
	}
	// The thread has the graph of the run that was created last, which may not have begun.
	if run, err := c.server.queue.Get(ctx, t.ThreadID, newest.Run); err == nil {
		if spec, err := specOf(run); err == nil {
			root.Graph = spec.Graph
		}
	}
	unfinished, err := c.server.queue.Unfinished(ctx, t.ThreadID)
	if err != nil {
		return nil, err
	}
	status := func(s graph.Status) string {
		if s == graph.Pending && len(unfinished) == 0 { // at a breakpoint, or cancelled
			s = graph.Interrupted
		}
		return treeStatuses[s]
	}
	root.Status = status(newest.Status)
	names, err := c.server.namespacesOf(ctx, t.ThreadID)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(names, func(a, b string) int { return len(a) - len(b) })
	nodes := map[string]*treeNode{"": root}
	for _, ns := range names {
		info, err := graph.Inspect(ctx, store, checkpoint.Key{Thread: t.ThreadID, Namespace: ns})
		if err != nil && ignoreUnknown(err) != nil {
			return nil, err
		}
		before, _ := cutLast(ns)
		parent := nodes[before]
		if err != nil || info.Run != newest.Run || parent == nil {
			continue
		}
		n := &treeNode{Namespace: wire.NamespacePath(ns), Status: status(info.Status), Graph: info.Graph, Children: []*treeNode{}}
		nodes[ns] = n
		parent.Children = append(parent.Children, n)
	}
	return root, nil
}
