package studio

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/weftrun/weft/checkpoint/topic"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/eventlog"
	"github.com/weftrun/weft/internal/picture"
)

// liveBatch is what a page gets of a batch of events.
type liveBatch struct {
	Run    string      `json:"run"`
	Events []liveEvent `json:"events,omitempty"`
	End    bool        `json:"end,omitempty"` // of the run
}

// liveEvent is one event. Kind is "task", "commit" or "token".
type liveEvent struct {
	Kind string `json:"kind"`
	// Nodes are the ids, in the picture, of the node of a task and of those around it.
	Nodes []string `json:"nodes,omitempty"`
	Node  string   `json:"node,omitempty"`
	Task  string   `json:"task,omitempty"`
	// State is the class that a task gives its node.
	State   picture.State `json:"state,omitempty"`
	Attempt int           `json:"attempt,omitempty"`
	Step    int           `json:"step,omitempty"`
	// Checkpoint and Status are those of a commit of the thread itself.
	Checkpoint uint64       `json:"checkpoint,omitempty"`
	Status     graph.Status `json:"status,omitempty"`
	// ID is that of a message, Text what it grows by, and First whether it begins.
	ID    string `json:"id,omitempty"`
	Text  string `json:"text,omitempty"`
	First bool   `json:"first,omitempty"`
	Final bool   `json:"final,omitempty"`
	// Reasoning is what the reasoning of the message grows by, and Call a piece of a call.
	Reasoning string           `json:"reasoning,omitempty"`
	Call      *graph.TokenCall `json:"call,omitempty"`
}

// phases are the states of nodes by what their tasks report.
var phases = map[graph.Phase]picture.State{
	graph.Started: picture.Running, graph.Finished: picture.Done, graph.Failing: picture.Failed, graph.Retrying: picture.Retrying,
	graph.Asking: picture.Asking, graph.Waiting: picture.Waiting, graph.Handling: picture.Running,
}

// liveEventOf returns what a page gets of an event; ok is false if that is nothing.
func liveEventOf(ev graph.Event) (e liveEvent, ok bool) {
	switch ev.Mode {
	case graph.Tasks:
		state, known := phases[ev.Phase]
		if ev.Cached && ev.Phase == graph.Finished {
			state = picture.Cached
		}
		e = liveEvent{Kind: "task", Nodes: picture.NodeIDs(ev.Namespace, ev.Node), Node: ev.Node, Task: ev.Task, State: state, Attempt: ev.Attempt, Step: ev.Step}
		return e, known && ev.ParentTask == ""
	case graph.Checkpoints:
		if ev.Commit == nil {
			return e, false
		}
		e = liveEvent{Kind: "commit", Step: ev.Step}
		if ev.Namespace == "" {
			e.Checkpoint, e.Status = ev.Commit.Checkpoint, ev.Commit.Status
		}
		return e, true
	case graph.Messages:
		t := ev.Token
		e = liveEvent{Kind: "token", ID: t.ID, Node: ev.Node, Text: t.Delta, First: t.Index == 0, Final: t.Final, Reasoning: t.Reasoning, Call: t.Call}
		if t.Final && !t.Streamed && t.Index == 0 {
			e.Text = t.Text
		}
		return e, t.Role == "" || t.Role == "assistant"
	}
	return e, false
}

// liveBatchOf returns what a page gets of a batch.
func liveBatchOf(b eventlog.Batch) liveBatch {
	out := liveBatch{Run: b.Run, End: b.End}
	for _, ev := range b.Events {
		if e, ok := liveEventOf(ev); ok {
			out.Events = append(out.Events, e)
		}
	}
	return out
}

// events answers with the events of a thread after a position, and those to come.
func (s *Handler) events(w http.ResponseWriter, req *http.Request) {
	r, leave, err := s.follow(req)
	if err != nil {
		s.fail(w, req, err)
		return
	}
	defer leave()
	after, err := r.number("after", anyNumber)
	if text := req.Header.Get("Last-Event-ID"); text != "" && err == nil {
		if after, err = strconv.ParseUint(text, 10, 64); err != nil {
			err = &requestError{http.StatusBadRequest, "Last-Event-ID must be the id of an event"}
		}
	}
	if err != nil {
		s.fail(w, req, err)
		return
	}
	t, err := r.source.Thread(r.Context(), r.PathValue("id"))
	if err != nil {
		s.fail(w, req, err)
		return
	}
	out := openStream(w)
	defer out.close()
	ctx, end := context.WithCancel(r.Context())
	var watch sync.WaitGroup
	watch.Go(func() { r.watchStatus(ctx, out, t.ID) })
	defer watch.Wait()
	defer end()
	for b, err := range r.source.Events(ctx, t.ID, after) {
		var missed *topic.MissedError
		switch {
		case errors.As(err, &missed), errors.Is(err, eventlog.ErrBatch):
			err = out.send("missed", strconv.FormatUint(b.Position, 10), []byte("{}"))
		case err == nil:
			data, bad := json.Marshal(liveBatchOf(b))
			if bad != nil {
				return
			}
			err = out.send("batch", strconv.FormatUint(b.Position, 10), data)
		}
		if err != nil {
			return // the client is gone, or comes again
		}
	}
}

// watchStatus sends the status of a thread and the number in the menu, and each that follows, at
// most four times a second. The log has the end of a run before the thread has its new status.
func (r *request) watchStatus(ctx context.Context, out *stream, id string) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	count := unknown
	for last := ""; ; {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		changed, n := r.source.Changed(), r.waiting()
		if t, err := r.source.Thread(ctx, id); err == nil && t.Status != last {
			last = t.Status
			data, _ := json.Marshal(map[string]string{"status": last}) // of a string
			if out.send("status", "", data) != nil {
				return
			}
		}
		if n != count && n != unknown {
			count = n
			data, _ := json.Marshal(n.change()) // of a number and texts
			if out.send("waiting", "", data) != nil {
				return
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
			timer.Reset(changesEvery)
		}
	}
}

// changesEvery is how long the changes of lists are gathered.
const changesEvery = 250 * time.Millisecond

// changes announces changes of any thread, at most four a second, with the number in the menu.
func (s *Handler) changes(w http.ResponseWriter, req *http.Request) {
	r, leave, err := s.follow(req)
	if err != nil {
		s.fail(w, req, err)
		return
	}
	defer leave()
	out := openStream(w)
	defer out.close()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		changed := r.source.Changed()
		select {
		case <-r.Context().Done():
			return
		case <-timer.C:
		}
		data := []byte("{}")
		if n := r.waiting(); n != unknown {
			data, _ = json.Marshal(n.change()) // of a number and texts
		}
		if out.send("change", "", data) != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-changed:
			timer.Reset(changesEvery)
		}
	}
}

// follow begins a request that stays open. leave must be called at its end.
func (s *Handler) follow(req *http.Request) (r *request, leave func(), err error) {
	source, err := s.config.Open(req)
	if err != nil {
		return nil, nil, err
	}
	leave = func() {}
	if s.config.Follow != nil {
		if leave, err = s.config.Follow(); err != nil {
			return nil, nil, err
		}
	}
	return s.request(req, source), leave, nil
}
