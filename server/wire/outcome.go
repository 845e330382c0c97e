package wire

import "encoding/json"

// Outcome is how a run has ended, for a client that waits for it.
type Outcome struct {
	Values     json.RawMessage // the state, on the wire; nil is {}
	Interrupts []Interrupt     // the open questions
	Waiting    bool            // the run waits for answers, or at a breakpoint
	Error      *RunError
}

// WaitBody returns what a client that waits for a run gets: the state; with __interrupt__ if the
// run waits; or only __error__ if it failed.
func WaitBody(o Outcome) (json.RawMessage, error) {
	if o.Error != nil {
		return json.Marshal(map[string]*RunError{"__error__": {Error: o.Error.Error, Message: o.Error.Message}})
	}
	if isNull(o.Values) {
		o.Values = json.RawMessage("{}")
	}
	if !o.Waiting {
		return o.Values, nil
	}
	return withInterrupts(o.Values, o.Interrupts)
}

// withInterrupts returns a state with the open questions as its last member.
func withInterrupts(values json.RawMessage, list []Interrupt) (json.RawMessage, error) {
	var o object
	if err := eachMember(values, func(name string, v json.RawMessage) error { o.field(name, v); return nil }); err != nil {
		return nil, err
	}
	o.field("__interrupt__", shortened(list))
	return o.end()
}

// Schemas are the JSON Schemas of a graph.
type Schemas struct {
	Input, Output, State, Config, Context json.RawMessage
}

type assistantSchemas struct {
	Graph   string          `json:"graph_id"`
	Input   json.RawMessage `json:"input_schema"`
	Output  json.RawMessage `json:"output_schema"`
	State   json.RawMessage `json:"state_schema"`
	Config  json.RawMessage `json:"config_schema"`
	Context json.RawMessage `json:"context_schema"`
}

// Assistant returns the schemas as those of an assistant. Those that are missing are null.
func (s Schemas) Assistant(graphID string) (json.RawMessage, error) {
	return json.Marshal(assistantSchemas{graphID, orNull(s.Input), orNull(s.Output), orNull(s.State), orNull(s.Config), orNull(s.Context)})
}

type subgraphSchemas struct {
	State        json.RawMessage `json:"state"`
	Input        json.RawMessage `json:"input"`
	Output       json.RawMessage `json:"output"`
	Config       json.RawMessage `json:"config"`
	StateSchema  json.RawMessage `json:"state_schema"`
	InputSchema  json.RawMessage `json:"input_schema"`
	OutputSchema json.RawMessage `json:"output_schema"`
	ConfigSchema json.RawMessage `json:"config_schema"`
}

// Subgraph returns the schemas as those of a subgraph, under the names of both families of clients.
func (s Schemas) Subgraph() (json.RawMessage, error) {
	state, in, out, config := orNull(s.State), orNull(s.Input), orNull(s.Output), orNull(s.Config)
	return json.Marshal(subgraphSchemas{state, in, out, config, state, in, out, config})
}
