package server

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/values"
	"github.com/weftrun/weft/server/queue"
	"github.com/weftrun/weft/server/wire"
)

// runIDs are the ids in the configuration of a run.
var runIDs = []string{"run_id", "thread_id", "graph_id", "assistant_id", "checkpoint_id", "checkpoint_ns"}

// created is a run that a request has created.
type created struct {
	run     queue.Run
	request runRequest
	path    string // of the run
}

// runCommand is the command of a request.
type runCommand struct {
	Resume json.RawMessage `json:"resume"`
	Update json.RawMessage `json:"update"`
	Goto   json.RawMessage `json:"goto"`
}

// createRun creates the run of the body.
func (c *call) createRun() (created, error) {
	var q runRequest
	if err := c.decode(&q); err != nil {
		return created{}, err
	}
	made, err := c.enqueue(q)
	if err == nil {
		c.w.Header().Set("Content-Location", made.path)
	}
	return made, err
}

// enqueue puts a run into the queue.
func (c *call) enqueue(request runRequest) (made created, err error) {
	made.request = request
	q := &made.request
	if err := q.check(); err != nil {
		return made, err
	}
	if err := c.checkMetadata(q.Metadata); err != nil {
		return made, err
	}
	if err := c.checkLoad(); err != nil {
		return made, err
	}
	if err := c.server.webhooks.check(q.Webhook); err != nil {
		return made, err
	}
	a, err := c.runnable(q.AssistantID)
	if err != nil {
		return made, err
	}
	id := cmp.Or(q.run, newID())
	spec := runSpec{Graph: a.GraphID, Assistant: a.AssistantID, Multitask: q.Multitask, Who: c.who, Mark: q.mark}
	var threadID string
	if threadID, spec.Metadata, err = c.threadOfRun(id, q, a); err != nil {
		return made, err
	}
	made.path = "/threads/" + threadID + "/runs/" + id
	if c.PathValue("thread_id") == "" {
		spec.Removed, spec.StaysAsking, made.path = q.OnCompletion == "delete", q.staysAsking, "/runs/"+id
	}
	spec.Kwargs = kwargsOf(q, a, id, threadID)
	settings, err := encode([]wire.Object{spec.Kwargs.Config.Configurable, spec.Kwargs.Context}) // a graph may store them
	if err != nil {
		return made, err
	}
	if err := c.checkBlobs(threadID, q.Input, q.Command, settings); err != nil {
		return made, err
	}
	if err := spec.read(c, q, threadID); err != nil {
		return made, err
	}
	made.run = queue.Run{ID: id, Thread: threadID, Owner: c.who.Name}
	if q.AfterSeconds > 0 {
		made.run.Due = c.server.now().Add(time.Duration(q.AfterSeconds * float64(time.Second)))
	}
	if made.run.Request, err = encode(spec.stored()); err != nil {
		return made, err
	}
	if n, most := len(made.run.Request), c.server.limits.Request; n > most {
		return made, tooLarge("the request of a run must have at most %d bytes as it is stored (got %d)", most, n)
	}
	if d := values.Depth(made.run.Request) - aroundInput + 1; d > maxInputDepth {
		return made, invalid("the input, the command, the config and the context of a run must not be deeper than %d (got %d)", maxInputDepth, d)
	}
	done, err := c.server.queue.Create(c.Context(), made.run, queue.Rule(q.Multitask))
	if err != nil {
		return made, runFault(err)
	}
	made.run = done.Run
	if spec.Removed && !spec.StaysAsking {
		return made, nil
	}
	return made, c.mark(made.run, &spec)
}

// threadOfRun returns the thread of a new run, and the metadata of the run. A run without a thread
// in the path gets one with the id of the run; it has a record only if it stays after the run.
func (c *call) threadOfRun(id string, q *runRequest, a wire.Assistant) (threadID string, metadata wire.Object, err error) {
	own := c.PathValue("thread_id") == ""
	threadID = id
	if !own {
		if threadID, err = c.pathID("thread_id"); err != nil {
			return "", nil, err
		}
	}
	metadata, filter, err := c.allowWrite("threads", "create_run", threadID, q.Metadata)
	if err != nil {
		return "", nil, err
	}
	merged := wire.Object{}
	if by, ok := a.Metadata[wire.MetadataCreatedBy]; ok {
		merged[wire.MetadataCreatedBy] = by
	}
	maps.Copy(merged, metadata)
	for key, value := range map[string]string{wire.MetadataGraph: a.GraphID, wire.MetadataAssistant: a.AssistantID} {
		if merged[key], err = encode(value); err != nil {
			return "", nil, err
		}
	}
	if own && q.OnCompletion == "delete" && !q.staysAsking {
		return threadID, merged, nil
	}
	if !own {
		_, err = c.server.visibleThread(c.Context(), threadID, filter)
		if q.IfNotExists != "create" || !hasCode(err, wire.CodeThreadNotFound) {
			return threadID, merged, err
		}
	}
	ofThread, _, err := c.allowWrite("threads", "create", threadID, nil)
	if err != nil {
		return "", nil, err
	}
	now := wire.At(c.server.now())
	t := thread{Thread: wire.Thread{
		ThreadID: threadID, CreatedAt: now, UpdatedAt: now, StateUpdatedAt: now, Metadata: ofThread, Status: wire.ThreadIdle,
	}}
	if _, err = c.server.threads.create(c.Context(), threadID, t, now.Time); err != nil {
		return "", nil, err
	}
	_, err = c.server.visibleThread(c.Context(), threadID, filter) // another caller may have been first
	return threadID, merged, err
}

// kwargsOf returns what a run repeats of its request.
func kwargsOf(q *runRequest, a wire.Assistant, id, threadID string) wire.RunKwargs {
	k := wire.RunKwargs{
		Input: q.Input, Command: q.Command, Config: mergeConfig(a.Config, q.Config), Context: wire.Object{}, StreamMode: q.StreamMode,
		Subgraphs: q.Subgraphs, Resumable: q.Resumable, Temporary: q.OnCompletion == "delete", Durability: q.Durability, FeedbackKeys: q.FeedbackKeys, Webhook: q.Webhook,
	}
	maps.Copy(k.Context, a.Context)
	maps.Copy(k.Context, q.Context)
	if len(q.InterruptBefore) > 0 {
		k.InterruptBefore, _ = json.Marshal(q.InterruptBefore) // of strings
	}
	if len(q.InterruptAfter) > 0 {
		k.InterruptAfter, _ = json.Marshal(q.InterruptAfter)
	}
	for key, value := range map[string]string{"run_id": id, "thread_id": threadID, "graph_id": a.GraphID, "assistant_id": a.AssistantID} {
		k.Config.Configurable[key], _ = json.Marshal(value)
	}
	return k
}

// read sets what the graph gets: where the run goes on, the input, or the edit and the answers.
func (s *runSpec) read(c *call, q *runRequest, threadID string) error {
	u := Use{useRun, s.settings(queue.Run{Thread: threadID})}
	shown, err := c.server.shown(c.Context(), s.Graph, u)
	if err != nil {
		return err
	}
	fields := shown.graph.reader()
	defer c.reportIgnored(fields)
	s.Before, s.After = shown.graph.nodesOf(q.InterruptBefore), shown.graph.nodesOf(q.InterruptAfter)
	if err := s.readCheckpoint(c, q, shown); err != nil {
		return err
	}
	if absent(q.Command) {
		if absent(q.Input) {
			return nil
		}
		input, err := fields.read(q.Input)
		if err == nil {
			s.Input, err = shown.graph.configure(input, u.Settings)
		}
		return err
	}
	var command runCommand
	if err := mistyped(json.Unmarshal(q.Command, &command)); err != nil {
		return err
	}
	if !absent(command.Update) || !absent(command.Goto) {
		s.Edit = &graph.UntypedEdit{}
		var err error
		if s.Edit.Writes, err = fields.read(command.Update); err != nil {
			return err
		}
		if err := readGoto(s.Edit, command.Goto); err != nil {
			return err
		}
	}
	s.Resume, s.Strict = command.Resume, q.StrictResume
	if s.Resume == nil || s.At != 0 {
		return nil
	}
	return s.readAnswers(c, threadID)
}

// readAnswers checks command.resume against the open questions, unless other runs come first.
func (s *runSpec) readAnswers(c *call, threadID string) error {
	unfinished, err := c.server.queue.Unfinished(c.Context(), threadID)
	if err != nil || len(unfinished) > 0 {
		return err
	}
	info, err := graph.Inspect(c.Context(), c.server.config.Store, checkpoint.Key{Thread: threadID})
	if err != nil && !errors.Is(err, graph.ErrUnknownThread) {
		return err
	}
	a, err := s.answers(info, false)
	s.Answers = &a
	return err
}

// readCheckpoint finds the commit that a run goes on from.
func (s *runSpec) readCheckpoint(c *call, q *runRequest, shown shownThread) error {
	at := q.at()
	if at == nil || at.ID == "" {
		return nil
	}
	shown, err := at.thread(c.Context(), shown)
	if err != nil {
		return err
	}
	if s.Namespace = shown.namespace; s.Namespace != "" && !(absent(q.Input) && absent(q.Command)) {
		return invalid("input and command must be absent: a run goes on from a checkpoint of a subgraph as it is")
	}
	found, id, err := shown.find(c.Context(), at.ID)
	if err != nil {
		return err
	}
	s.At = found.Info.Checkpoint
	if id.Phase == 0 && wire.Phases(found.Info) == 2 {
		if s.At = found.Info.Parent; s.At == 0 {
			s.At = found.Info.Checkpoint - 1
		}
		if s.At == 0 {
			return &wire.Error{Code: wire.CodeCheckpointNotFound, Detail: "the run must not go on from before the first commit", Status: 409}
		}
		if absent(q.Input) && absent(q.Command) { // the turn runs again
			state, err := shown.view(c.Context()).State(found, 0, nil)
			if err != nil {
				return err
			}
			q.Input = state.Tasks[0].Result
		}
	}
	if s.Namespace != "" {
		return nil
	}
	newest, err := c.server.rootOf(c.Context(), shown.thread)
	if err == nil && newest.Checkpoint == s.At {
		s.At = 0
	}
	return err
}

// readGoto reads command.goto: the name of a node, a Send, or a list of these.
func readGoto(e *graph.UntypedEdit, raw json.RawMessage) error {
	if absent(raw) {
		return nil
	}
	list := []json.RawMessage{raw}
	if raw[0] == '[' {
		if err := json.Unmarshal(raw, &list); err != nil {
			return invalid("goto must be nodes and Sends")
		}
	}
	for _, target := range list {
		var name string
		var send struct {
			Node  string          `json:"node"`
			Input json.RawMessage `json:"input"`
		}
		switch {
		case json.Unmarshal(target, &name) == nil && name != "":
			e.Goto = append(e.Goto, name)
		case json.Unmarshal(target, &send) == nil && send.Node != "":
			e.Sends = append(e.Sends, graph.UntypedSend{Node: send.Node, Payload: send.Input})
		default:
			return invalid("goto must be nodes and Sends")
		}
	}
	return nil
}
