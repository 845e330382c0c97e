package server

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/weftrun/weft/server/wire"
)

// graphOf returns the graph of an assistant, with its settings.
func (c *call) graphOf(a assistant) (servedGraph, error) {
	return c.server.graph(c.Context(), a.GraphID, Use{useAssistant, Settings{
		Configurable: a.Config.Configurable, Context: a.Context, Assistant: a.AssistantID, Identity: c.who,
	}})
}

// schemas returns the JSON Schemas of a graph. Lists of messages are marked in those of the state.
func (g servedGraph) schemas() wire.Schemas {
	s := g.Schemas()
	return wire.Schemas{
		Input: withMessages(s.Input, g.messages), Output: withMessages(s.Output, g.messages), State: withMessages(s.State, g.messages),
		Config: s.Settings, Context: s.Settings,
	}
}

// withMessages returns the schema of a state with the fields that are lists of messages marked for
// clients. Their items are objects, unless the schema has more about them.
func withMessages(schema json.RawMessage, fields []string) json.RawMessage {
	var all, properties wire.Object
	if json.Unmarshal(schema, &all) != nil || json.Unmarshal(all["properties"], &properties) != nil {
		return schema
	}
	for _, name := range fields {
		var p wire.Object
		if json.Unmarshal(properties[name], &p) != nil || p == nil {
			continue
		}
		p["langgraph_type"] = json.RawMessage(`"messages"`)
		if !gjson.GetBytes(p["items"], "@this").IsObject() {
			p["items"] = json.RawMessage(`{"type":"object"}`)
		}
		properties[name], _ = json.Marshal(p) // of JSON
	}
	all["properties"], _ = json.Marshal(properties)
	out, err := encode(all)
	if err != nil {
		return schema
	}
	return out
}

// getSchemas answers with the schemas of an assistant's graph.
func getSchemas(c *call) error {
	a, err := c.assistant("read")
	if err != nil {
		return err
	}
	g, err := c.graphOf(a)
	if err != nil {
		return err
	}
	data, err := g.schemas().Assistant(a.GraphID)
	if err != nil {
		return err
	}
	return c.answer(json.RawMessage(data))
}

// getSubgraphs answers with the schemas of the subgraphs of an assistant's graph, by their nodes:
// those directly inside, or all, or the one in a namespace and those inside it.
func getSubgraphs(c *call) error {
	a, err := c.assistant("read")
	if err != nil {
		return err
	}
	recurse, err := c.flag("recurse")
	if err != nil {
		return err
	}
	g, err := c.graphOf(a)
	if err != nil {
		return err
	}
	found := subgraphs{recurse: recurse}
	if ns := c.PathValue("namespace"); ns != "" {
		inner, ok := g.in(ns)
		if !ok {
			return wire.Errorf(wire.CodeNotFound, "Subgraph %.200q not found", ns)
		}
		found.add(ns, inner)
		if recurse {
			found.addInside(ns+"|", inner, 0)
		}
	} else {
		found.addInside("", g, 0)
	}
	if found.err != nil {
		return found.err
	}
	return c.answer(found.answer())
}

// subgraphs are schemas by namespace, in the order of the nodes.
type subgraphs struct {
	recurse bool
	names   []string
	schemas []json.RawMessage
	err     error
}

func (s *subgraphs) add(name string, g servedGraph) {
	data, err := g.schemas().Subgraph()
	if err != nil {
		s.err = err
	}
	s.names, s.schemas = append(s.names, name), append(s.schemas, data)
}

// addInside adds the subgraphs of a graph; the names begin with prefix.
func (s *subgraphs) addInside(prefix string, g servedGraph, depth int) {
	children := g.Children()
	for _, node := range slices.Sorted(maps.Keys(children)) {
		inner := servedGraph{children[node], messageFields(children[node])}
		s.add(prefix+node, inner)
		if s.recurse && depth < allLevels {
			s.addInside(prefix+node+"|", inner, depth+1)
		}
	}
}

// answer returns an object with its members in order.
func (s *subgraphs) answer() json.RawMessage {
	out := []byte{'{'}
	for i, name := range s.names {
		if i > 0 {
			out = append(out, ',')
		}
		key, _ := encode(name) // of a string
		out = append(append(append(out, key...), ':'), s.schemas[i]...)
	}
	return append(out, '}')
}
