package wire

import "encoding/json"

// taskNS returns the namespace of a task.
func (s *sender) taskNS(id string) string {
	own := s.e.Node + ":" + id
	if s.e.NS == "" {
		return own
	}
	return s.e.NS + "|" + own
}

// metadata returns the metadata of a task's messages and events.
func (s *sender) metadata(id string, step int, send bool) Object {
	m := Object{}
	for name, v := range s.c.start.Metadata {
		m[name] = v
	}
	path := PullPath(s.e.Node)
	if send {
		path = PushPath(0)
	}
	m.set("langgraph_node", s.e.Node)
	m.set("langgraph_step", step)
	m.set("langgraph_triggers", triggers(s.e.Node, send))
	m.set("langgraph_path", path)
	m.set("langgraph_checkpoint_ns", s.taskNS(id))
	m.set("checkpoint_ns", s.taskNS(id))
	m.set("thread_id", s.c.start.Thread)
	m.set("run_id", s.e.Run)
	m.set(MetadataGraph, s.c.start.Graph)
	m.set(MetadataAssistant, s.c.start.Assistant)
	tags := s.c.start.Tags
	if tags == nil {
		tags = []string{}
	}
	m.set("tags", tags)
	return m
}

func triggers(node string, send bool) []string {
	if send {
		return []string{"__pregel_push"}
	}
	return []string{"branch:to:" + node}
}

type taskPayload struct {
	ID         string          `json:"id"`
	Name       string          `json:"name"`
	Input      json.RawMessage `json:"input"`
	Triggers   []string        `json:"triggers"`
	Interrupts []Interrupt     `json:"interrupts"`
	Metadata   Object          `json:"metadata,omitempty"`
}

type resultPayload struct {
	ID         string          `json:"id"`
	Name       string          `json:"name"`
	Result     json.RawMessage `json:"result"`
	Error      string          `json:"error,omitempty"`
	Interrupts []Interrupt     `json:"interrupts"`
}

type debugPayload struct {
	Step      int    `json:"step"`
	Timestamp string `json:"timestamp"`
	Type      string `json:"type"`
	Payload   any    `json:"payload"`
}

func (s *sender) debug(slot, step int, kind string, payload any) {
	if s.visible(ModeDebug) {
		s.send(slot, s.name(ModeDebug), debugPayload{step, At(s.e.Time()).String(), kind, payload})
	}
}

func (s *sender) task(d *TaskStart) {
	input := d.Input
	if !d.Send {
		input = s.c.values[s.e.NS]
	}
	p := taskPayload{d.ID, s.e.Node, orNull(input), triggers(s.e.Node, d.Send), []Interrupt{}, s.metadata(d.ID, d.Step, d.Send)}
	if s.visible(ModeTasks) {
		s.send(0, s.name(ModeTasks), p)
	}
	s.debug(1, d.Step, "task", p)
	if s.visible(ModeEvents) {
		s.send(2, ModeEvents, s.chain("on_chain_start", s.e.Node, map[string]json.RawMessage{"input": orNull(input)}))
	}
}

func (s *sender) result(d *TaskResult) {
	result := d.Result
	if result == nil {
		result = json.RawMessage("{}")
	}
	failed, asked := d.Error != nil, len(d.Interrupts) > 0
	finished := !failed && d.Result != nil
	if s.visible(ModeUpdates) && finished {
		var o object
		o.field(s.e.Node, result)
		if d.Cached {
			o.field("__metadata__", map[string]bool{"cached": true})
		}
		update, _ := o.end() // of JSON
		s.send(0, s.name(ModeUpdates), update)
	}
	p := resultPayload{d.ID, s.e.Node, result, "", shortened(d.Interrupts)}
	if failed {
		p.Error = d.Error.Message
	}
	if finished || failed || asked {
		if s.visible(ModeTasks) {
			s.send(1, s.name(ModeTasks), p)
		}
		s.debug(2, d.Step, "task_result", p)
	}
	all := members(d.Result)
	n := 8
	for _, name := range d.Messages {
		var list []json.RawMessage
		_ = json.Unmarshal(all[name], &list)
		for _, m := range list {
			s.whole(n, m, d)
			n++
		}
	}
	if s.visible(ModeEvents) && finished {
		s.send(n, ModeEvents, s.chain("on_chain_end", s.e.Node, map[string]json.RawMessage{"output": result}))
	}
}

// whole shows a message that a node added and that was not streamed.
func (s *sender) whole(slot int, m json.RawMessage, d *TaskResult) {
	f := members(m)
	id := text(f["id"])
	if s.c.complete["tuple "+id] || text(f["type"]) == typeRemove {
		return
	}
	s.c.complete["tuple "+id] = true
	if s.c.streamed[id] == nil && s.visible(ModeMessagesTuple) {
		s.send(slot, s.name(ModeMessages), []any{m, s.metadata(d.ID, d.Step, false)})
	}
}

// shortened returns questions as streams show them: with id and value.
func shortened(list []Interrupt) []Interrupt {
	out := make([]Interrupt, len(list))
	for i, in := range list {
		out[i] = Interrupt{ID: in.ID, Value: in.Value}
	}
	return out
}

func (s *sender) asked(d *Asked) {
	if !s.has(ModeUpdates) {
		return
	}
	list := []Interrupt{}
	if d.Interrupt != nil {
		list = shortened([]Interrupt{*d.Interrupt})
	}
	data := map[string][]Interrupt{"__interrupt__": list}
	if s.c.o.Subgraphs && d.NS != "" {
		s.send(0, ModeUpdates+"|"+d.NS, data)
	}
	s.send(1, ModeUpdates, data)
}
