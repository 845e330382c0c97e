package studio

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/topic"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/eventlog"
	"github.com/weftrun/weft/state/message"
)

const roleUser = message.RoleUser

// What a page of a chat reads at most.
const (
	chatPage    = 100  // messages
	chatCommits = 5000 // commits that are searched for turns
	chatBatches = 5000 // of the log
)

// conversation is a page with the messages of a thread.
type conversation struct {
	Thread
	At, Newest uint64 // checkpoints; 0 if there is none
	List       []message.Message
	From       int    // the index of the first message that is shown
	Before     string // a link to those before, or ""
	Results    map[string]message.Result
	Turns      map[string]chatTurn // by the id of the message that begins it
	Questions  []question
	Failures   []graph.Failure
	Log        chatLog
	Edit       string // the message that is being changed; "" for a new one
}

// chatTurn is a turn that a message begins.
type chatTurn struct {
	Commit uint64
	Place  int      // among the turns that begin at the same place, from 0
	Others []uint64 // the newest commits of the branches of these turns
}

// read reads the conversation at ?at=, with the messages before ?before=.
func (c *conversation) read(r *request) error {
	if c.Graph == nil && c.GraphID == "" {
		c.Log.position, _ = r.source.Position(r.Context(), c.ID) // the page shows that there is nothing yet
		return nil
	}
	if c.Graph != nil && c.Messages == "" {
		return noMessages(c.GraphID)
	}
	at, err := r.number("at", anyNumber)
	if err != nil {
		return err
	}
	before, err := r.number("before", 1<<31)
	if err != nil {
		return err
	}
	head, err := graph.Inspect(r.Context(), c.Store, checkpoint.Key{Thread: c.ID})
	if errors.Is(err, graph.ErrUnknownThread) || c.Graph == nil {
		c.Log, err = r.chatLog(c.Thread)
		return err
	}
	if err != nil {
		return err
	}
	c.Newest, c.At, c.Edit = head.Checkpoint, cmp.Or(at, head.Checkpoint), r.URL.Query().Get("edit")
	// The log is read first: what is stored meanwhile is in both, and what is in both is left out.
	if c.At == c.Newest {
		if c.Log, err = r.chatLog(c.Thread); err != nil {
			return err
		}
	} else if c.Log.position, err = r.source.Position(r.Context(), c.ID); err != nil {
		return err
	}
	if c.List, err = messagesAt(r.Context(), c.Thread, c.At); errors.Is(err, graph.ErrUnknownThread) {
		return noCheckpoint(c.At)
	} else if err != nil {
		return err
	}
	for _, in := range head.Interrupts {
		if c.At == c.Newest {
			q := questionOf(c.Thread, in, r.write)
			q.View = "chat"
			c.Questions = append(c.Questions, q)
		}
	}
	if c.At == c.Newest {
		c.Failures = head.Failures
	}
	c.Results = map[string]message.Result{}
	for _, m := range c.List {
		for _, result := range m.Results {
			c.Results[result.CallID] = result
		}
	}
	c.Log.drop(c.List)
	return c.turns(r, int(before))
}

// turns selects the messages that are shown, and finds the turns that they begin.
func (c *conversation) turns(r *request, before int) error {
	end := len(c.List)
	if before > 0 {
		end = min(end, before)
	}
	c.From = max(0, end-chatPage)
	if c.From > 0 {
		c.Before = r.with("/threads/"+url.PathEscape(c.ID)+"/chat", "before", fmt.Sprint(c.From))
	}
	commits, inputs, err := r.inputs(c.Thread, c.At)
	if err != nil {
		return err
	}
	c.Turns = map[string]chatTurn{}
	for i, n := len(c.List)-1, len(inputs)-1; i >= 0 && n >= 0; i-- { // an input has one message of a person
		if c.List[i].Role == roleUser {
			c.Turns[c.List[i].ID] = turnOf(commits, inputs[n])
			n--
		}
	}
	c.List = c.List[:end]
	return nil
}

// turnOf returns a turn with those that begin where it does.
func turnOf(commits []graph.CommitInfo, begun graph.CommitInfo) chatTurn {
	t := chatTurn{Commit: begun.Checkpoint}
	for _, c := range slices.Backward(commits) {
		same := parentOf(c) == parentOf(begun) || parentOf(begun) == 0 && parentOf(c) == begun.Checkpoint ||
			parentOf(c) == 0 && parentOf(begun) == c.Checkpoint
		if c.Source != checkpoint.Input || !same {
			continue
		}
		if c.Checkpoint == begun.Checkpoint {
			t.Place = len(t.Others)
		}
		t.Others = append(t.Others, newestAfter(commits, c))
	}
	return t
}

// newestAfter returns the newest commit of the branch that a commit begins or is on.
func newestAfter(commits []graph.CommitInfo, c graph.CommitInfo) uint64 {
	for _, other := range commits { // the newest first
		if other.Branch == c.Branch {
			return other.Checkpoint
		}
	}
	return c.Checkpoint
}

// inputs returns the newest commits of a thread, the newest first, and of those that lead to one of
// them the inputs, the oldest first. at is 0 for the newest.
func (r *request) inputs(t Thread, at uint64) (commits, inputs []graph.CommitInfo, err error) {
	next := at
	for c, err := range graph.History(r.Context(), t.Store, checkpoint.Key{Thread: t.ID}, checkpoint.Query{Limit: chatCommits}) {
		if err != nil {
			return nil, nil, err
		}
		commits = append(commits, c)
		if next == 0 {
			next = c.Checkpoint
		}
		if c.Checkpoint != next {
			continue
		}
		if c.Source == checkpoint.Input {
			inputs = append(inputs, c)
		}
		if next = parentOf(c); next == 0 {
			next = anyNumber // there is none before it
		}
	}
	slices.Reverse(inputs)
	return commits, inputs, nil
}

// messagesAt returns the messages of a thread at a checkpoint.
func messagesAt(ctx context.Context, t Thread, at uint64) (list []message.Message, err error) {
	state, _, err := t.Graph.Thread(t.ID).State(ctx, at)
	if err != nil {
		return nil, err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(state, &fields); err != nil {
		return nil, fmt.Errorf("studio: read the state: %w", err)
	}
	if fields[t.Messages] == nil {
		return nil, nil
	}
	if err := json.Unmarshal(fields[t.Messages], &list); err != nil {
		return nil, &requestError{http.StatusUnprocessableEntity, fmt.Sprintf("the field %.100q of the state does not have messages", t.Messages)}
	}
	return list, nil
}

func indexOf(list []message.Message, id string) int {
	return slices.IndexFunc(list, func(m message.Message) bool { return m.ID == id })
}

// chatLog is what the log of a thread has of its messages.
type chatLog struct {
	position uint64            // of the newest event that was read
	drafts   []*draft          // messages that are being written, in the order of their starts
	thoughts map[string]string // the reasoning of messages, by id
	tools    map[string]*toolRun
}

// draft is a message that is being written.
type draft struct {
	id, text, reasoning string
	calls               []message.Call
}

// toolRun is a run of a tool.
type toolRun struct {
	state      graph.Phase
	start, end time.Time
	note       string
}

// chatLog reads the newest events of a thread's log.
func (r *request) chatLog(t Thread) (l chatLog, err error) {
	l.thoughts, l.tools = map[string]string{}, map[string]*toolRun{}
	last, err := r.source.Position(r.Context(), t.ID)
	if err != nil || last == 0 {
		return l, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), logTime)
	defer cancel()
	after := uint64(0)
	if last > chatBatches {
		after = last - chatBatches
	}
	tasks := map[string]string{} // the calls of tasks
	for b, err := range r.source.Events(ctx, t.ID, after) {
		var missed *topic.MissedError
		if err != nil && !errors.As(err, &missed) && !errors.Is(err, eventlog.ErrBatch) {
			break // what was read so far is shown
		}
		for _, ev := range b.Events {
			switch ev.Mode {
			case graph.Messages:
				l.token(ev.Token)
			case graph.Tasks:
				l.task(tasks, ev)
			}
		}
		if b.End {
			l.drafts = nil // what was not stored is gone
		}
		if b.Position >= last {
			break
		}
	}
	l.position = last
	return l, r.Context().Err()
}

// token adds a piece to its draft.
func (l *chatLog) token(t graph.Token) {
	if t.Role != "" && t.Role != string(message.RoleAssistant) {
		return
	}
	i := slices.IndexFunc(l.drafts, func(d *draft) bool { return d.id == t.ID })
	if i < 0 {
		i, l.drafts = len(l.drafts), append(l.drafts, &draft{id: t.ID})
	}
	d := l.drafts[i]
	if t.Index == 0 {
		*d = draft{id: t.ID}
		if t.Final && !t.Streamed {
			d.text = t.Text
		}
	}
	d.text += t.Delta
	if t.Reasoning != "" {
		d.reasoning += t.Reasoning
		l.thoughts[d.id] = d.reasoning
	}
	if t.Call == nil {
		return
	}
	for len(d.calls) <= t.Call.Index && t.Call.Index < maxCalls {
		d.calls = append(d.calls, message.Call{})
	}
	if t.Call.Index >= 0 && t.Call.Index < len(d.calls) {
		c := &d.calls[t.Call.Index]
		c.ID, c.Name = cmp.Or(c.ID, t.Call.ID), cmp.Or(c.Name, t.Call.Name)
		c.Arguments = append(c.Arguments, t.Call.Arguments...)
	}
}

// maxCalls is how many calls of one message are shown while it is being written.
const maxCalls = 100

// task notes the run of a tool. The payload of its task is the call.
func (l *chatLog) task(calls map[string]string, ev graph.Event) {
	if ev.ParentTask != "" {
		return
	}
	key := ev.Namespace + "\x00" + ev.Task
	if ev.Phase == graph.Started {
		var call message.Call
		if len(ev.Input) == 0 || json.Unmarshal(ev.Input, &call) != nil || call.ID == "" {
			return
		}
		if calls[key] = call.ID; l.tools[call.ID] == nil || ev.Attempt < 2 {
			l.tools[call.ID] = &toolRun{start: ev.Time}
		}
	}
	run := l.tools[calls[key]]
	if run == nil {
		return
	}
	run.state, run.end, run.note = ev.Phase, ev.Time, ""
	if ev.Err != nil {
		run.note = ev.Err.Error()
	}
}

// drop removes the drafts of messages that are stored.
func (l *chatLog) drop(list []message.Message) {
	l.drafts = slices.DeleteFunc(l.drafts, func(d *draft) bool { return indexOf(list, d.id) >= 0 })
}
