package wire

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
)

// Snapshot is a commit with its state.
type Snapshot struct {
	Info graph.CommitInfo
	// State is the state as graph.EncodeState returns it; nil if it was not loaded.
	State json.RawMessage
}

// View is the thread or the subgraph whose states are shown.
type View struct {
	Thread    string // the id on the wire
	Graph     string // the id of the graph
	Name      string // the name of the graph of a subgraph; "" for that of the thread
	Assistant string // the id of the assistant
	// Messages are the names of the fields that are messages.
	Messages []string
	// Initial is the state before the first commit; nil is {}.
	Initial json.RawMessage
	// Namespaces are the namespaces of the thread that have commits, as graph.Namespaces returns
	// them. A task whose subgraph has commits has a checkpoint.
	Namespaces []string
	// Child returns the state of a subgraph by its namespace in Weft, for states that include those
	// of subgraphs. nil, or a nil result, leaves it out.
	Child func(namespace string) *ThreadState
	// Parents are the ids of the checkpoints of the enclosing graphs, by namespace.
	Parents map[string]string
	// Commit returns another commit of the same namespace, with its state if the caller has it: the
	// one before a commit, the one after it, and the one that began a branch. ok is false if it is
	// gone.
	Commit func(number uint64) (s Snapshot, ok bool)
}

// name returns the name of the graph.
func (v *View) name() string { return cmp.Or(v.Name, v.Graph) }

// The sources of checkpoints, in the words of clients.
const (
	sourceInput  = "input"
	sourceLoop   = "loop"
	sourceUpdate = "update"
	sourceFork   = "fork"
)

// Phases returns how many checkpoints show a commit: two for an input, else one. Phase 0 is the
// state before the input, and phase 1 the state of the commit.
func Phases(info graph.CommitInfo) int {
	if info.Source == checkpoint.Input {
		return 2
	}
	return 1
}

// States returns the states that show a commit, the newest first: phase 1, and for an input also
// phase 0. next is the commit that follows it on its branch, or nil.
func (v *View) States(s Snapshot, next *Snapshot) ([]ThreadState, error) {
	own, err := v.state(s, next)
	if err != nil || Phases(s.Info) == 1 {
		return []ThreadState{own}, err
	}
	before, err := v.inputState(s)
	if err != nil {
		return nil, err
	}
	return []ThreadState{own, before}, nil
}

// State returns the state at one checkpoint of a commit.
func (v *View) State(s Snapshot, phase int, next *Snapshot) (ThreadState, error) {
	if phase == 0 && Phases(s.Info) == 2 {
		return v.inputState(s)
	}
	return v.state(s, next)
}

// state returns the state of a commit in phase 1.
func (v *View) state(s Snapshot, next *Snapshot) (out ThreadState, err error) {
	if out.Values, err = v.Values(s.State); err != nil {
		return out, err
	}
	out.Next, out.Tasks = []string{}, []ThreadTask{}
	out.Interrupts = []Interrupt{}
	sends := 0
	for _, d := range s.Info.Due {
		path := PullPath(d.Node)
		if d.Send {
			path = PushPath(sends)
			sends++
		}
		if slices.ContainsFunc(s.Info.Finished, func(f graph.FinishedTask) bool { return f.Task == d.Task }) {
			continue
		}
		task := v.task(s.Info, d)
		task.Path = path
		out.Next = append(out.Next, d.Node)
		out.Interrupts = append(out.Interrupts, task.Interrupts...)
		out.Tasks = append(out.Tasks, task)
	}
	if next != nil && len(out.Tasks) == 1 && next.Info.Source == checkpoint.Step && len(next.Info.Ran) == 1 {
		if out.Tasks[0].Result, err = v.delta(s.State, next.State, next.Info.Ran[0].Wrote); err != nil {
			return out, err
		}
	}
	out.Metadata = v.metadata(s.Info, 1)
	out.CreatedAt = At(s.Info.Time)
	out.Checkpoint = v.checkpoint(s.Info, 1)
	out.ParentCheckpoint = v.parent(s.Info, 1)
	return out, nil
}

// task returns a due task, with its questions, its failure and its subgraph.
func (v *View) task(info graph.CommitInfo, d graph.DueTask) ThreadTask {
	t := ThreadTask{ID: TaskUUID(d.Task), Name: d.Node, Interrupts: []Interrupt{}}
	for _, in := range info.Interrupts {
		at := taskAt(in, info.Namespace)
		if at == d.Task || at == "" && in.Namespace != info.Namespace && childNode(in.Namespace, info.Namespace) == d.Node {
			if out, ok := InterruptOf(in); ok {
				t.Interrupts = append(t.Interrupts, out)
			}
		}
	}
	for _, f := range info.Failures {
		if f.Node == d.Node && !f.Cancelled {
			message := f.Message
			t.Error = &message
		}
	}
	for _, ns := range v.Namespaces {
		if !isChildOf(ns, info.Namespace, d) {
			continue
		}
		if v.Child != nil {
			t.State = v.Child(ns)
		}
		if t.State == nil {
			t.Checkpoint = &Checkpoint{ThreadID: v.Thread, CheckpointNS: NamespaceToWire(ns)}
		}
		break
	}
	return t
}

// isChildOf reports whether ns is the namespace of a subgraph that the task d runs, where d is a
// task of the graph with the namespace parent. Subgraphs of that subgraph do not count.
func isChildOf(ns, parent string, d graph.DueTask) bool {
	rest, ok := strings.CutPrefix(ns, parent)
	if parent != "" && ok {
		rest, ok = strings.CutPrefix(rest, "|")
	}
	if !ok || strings.Contains(rest, "|") {
		return false
	}
	if id := childTask(ns, parent); id != "" {
		return id == d.Task
	}
	return strings.HasPrefix(rest, d.Node+"/")
}

// before returns the commit that a commit goes on from, or nil if there is none or it is gone.
func (v *View) before(info graph.CommitInfo) *Snapshot {
	number := parentOf(info)
	if number == 0 || v.Commit == nil {
		return nil
	}
	s, ok := v.Commit(number)
	if !ok {
		return nil
	}
	return &s
}

// parentOf returns the number of the commit that a commit goes on from; 0 for the first.
func parentOf(info graph.CommitInfo) uint64 {
	if info.Parent != 0 {
		return info.Parent
	}
	return info.Checkpoint - 1
}

func (v *View) checkpoint(info graph.CommitInfo, phase int) *Checkpoint {
	id := CheckpointOf(info.Checkpoint, phase, info.Time).String()
	c := &Checkpoint{ThreadID: v.Thread, CheckpointNS: NamespaceToWire(info.Namespace), CheckpointID: &id}
	if len(v.Parents) > 0 {
		ids := map[string]string{NamespaceToWire(info.Namespace): id}
		for ns, parent := range v.Parents {
			ids[ns] = parent
		}
		c.CheckpointMap, _ = json.Marshal(ids) // cannot fail: it has only strings
	}
	return c
}

// parent returns the checkpoint before one of a commit, or nil.
func (v *View) parent(info graph.CommitInfo, phase int) *Checkpoint {
	if phase == 1 && Phases(info) == 2 {
		return v.checkpoint(info, 0)
	}
	if before := v.before(info); before != nil {
		return v.checkpoint(before.Info, 1)
	}
	return nil
}

// Step returns the number of the step that clients see for a checkpoint: the commits of its branch
// count, and inputs count twice; the first checkpoint of a thread has -1.
func (v *View) Step(info graph.CommitInfo, phase int) int {
	step := int(v.depth(info)) + info.Turn - 2
	if phase == 0 {
		step--
	}
	return step
}

// depth returns how many commits lead to a commit, itself included. The commits of a branch have
// numbers without gaps.
func (v *View) depth(info graph.CommitInfo) uint64 {
	n := uint64(0)
	for info.Branch != 0 {
		first := info
		if info.Checkpoint != info.Branch {
			s, ok := Snapshot{}, false
			if v.Commit != nil {
				s, ok = v.Commit(info.Branch)
			}
			if !ok { // it is gone: estimate the depth
				return n + uint64(max(1, info.Step+info.Turn))
			}
			first = s.Info
		}
		n += info.Checkpoint - info.Branch + 1
		at := parentOf(first)
		s, ok := Snapshot{}, false
		if v.Commit != nil && at != 0 {
			s, ok = v.Commit(at)
		}
		if !ok {
			return n + at
		}
		info = s.Info
	}
	return n + info.Checkpoint
}

// source returns what made a checkpoint, in the words of clients.
func source(info graph.CommitInfo, phase int) string {
	switch {
	case phase == 0:
		return sourceInput
	case info.Source == checkpoint.Update:
		return sourceUpdate
	case info.Source == checkpoint.Fork:
		return sourceFork
	}
	return sourceLoop
}

type weftMetadata struct {
	Commit  uint64 `json:"commit"`
	Turn    int    `json:"turn"`
	Branch  uint64 `json:"branch"`
	Program string `json:"program"`
}

// metadata returns the metadata of a checkpoint.
func (v *View) metadata(info graph.CommitInfo, phase int) Object {
	m := Metadata(info.Metadata)
	m.set("source", source(info, phase))
	m.set("step", v.Step(info, phase))
	parents := v.Parents
	if parents == nil {
		parents = map[string]string{}
	}
	m.set("parents", parents)
	m.set("thread_id", v.Thread)
	m.set("run_id", info.Run)
	m.set(MetadataGraph, v.Graph)
	m.set(MetadataAssistant, v.Assistant)
	m.set("weft", weftMetadata{info.Checkpoint, info.Turn, info.Branch, info.Program})
	return m
}

// Values returns a state on the wire: the fields that are messages are converted. nil is {}.
func (v *View) Values(state json.RawMessage) (json.RawMessage, error) {
	return convert(state, v.Messages)
}

// Matches reports whether an id that a client sent is that of a checkpoint of this commit.
func Matches(id CheckpointID, number uint64, at time.Time, phases int) bool {
	return id.Matches(number, at) && (id.Phase == 1 || phases == 2)
}
