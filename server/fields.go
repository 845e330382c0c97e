package server

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/weftrun/weft/server/wire"
	"github.com/weftrun/weft/state"
)

// fieldReader reads fields that clients write to a graph.
type fieldReader struct {
	messages []string
	known    map[string]state.Channel // nil: any
	ignored  []string                 // the names of unknown fields
}

// reader returns a reader of the fields of a graph.
func (g servedGraph) reader() *fieldReader {
	r := &fieldReader{messages: g.messages}
	if offers, ok := g.Untyped.(channels); ok {
		r.known = offers.Channels()
	}
	return r
}

// channels is a graph whose fields can be listed.
type channels interface {
	Channels() map[string]state.Channel
}

// read reads an object, or a list of pairs. Lists of messages are read in the forms that clients
// send. Fields that the graph does not have are left out. Null is nil.
func (r *fieldReader) read(raw json.RawMessage) (json.RawMessage, error) {
	if absent(raw) {
		return nil, nil
	}
	fields, err := fieldsOf(raw)
	if err != nil {
		return nil, err
	}
	for name, value := range fields {
		if _, ok := r.known[name]; !ok && r.known != nil {
			r.ignored = append(r.ignored, name)
			delete(fields, name)
			continue
		}
		if absent(value) {
			delete(fields, name)
			continue
		}
		if slices.Contains(r.messages, name) {
			read, err := wire.ReadMessages(value, newID)
			if err != nil {
				return nil, invalid("%s: %v", name, err)
			}
			fields[name] = read
		}
	}
	return encode(fields)
}

func fieldsOf(raw json.RawMessage) (fields wire.Object, err error) {
	if raw[0] == '{' && json.Unmarshal(raw, &fields) == nil {
		return fields, nil
	}
	var pairs [][2]json.RawMessage
	if raw[0] != '[' {
		return nil, invalid("the values must be an object")
	}
	if json.Unmarshal(raw, &pairs) != nil {
		return nil, invalid("the values must be an object, or a list of pairs")
	}
	fields = wire.Object{}
	for _, p := range pairs {
		var name string
		if json.Unmarshal(p[0], &name) != nil {
			return nil, invalid("the values must be an object, or a list of pairs")
		}
		fields[name] = p[1]
	}
	return fields, nil
}

// ignoredHeader names the fields of a request that the graph does not have.
const ignoredHeader = "X-Weft-Ignored"

// reportIgnored names to the client the fields that were left out.
func (c *call) reportIgnored(r *fieldReader) {
	names := slices.DeleteFunc(r.ignored, func(name string) bool { return !isToken(name) })
	if len(names) > 0 {
		slices.Sort(names)
		c.w.Header().Set(ignoredHeader, strings.Join(slices.Compact(names), ", "))
	}
}

// nodesOf returns those names that are nodes of the graph, or "*".
func (g servedGraph) nodesOf(names []string) (nodes []string) {
	if len(names) == 0 {
		return nil
	}
	known := map[string]bool{"*": true}
	for _, n := range g.Draw(0).Nodes {
		known[n.Name] = n.Kind != "start" && n.Kind != "end"
	}
	for _, name := range names {
		if known[name] {
			nodes = append(nodes, name)
		}
	}
	return nodes
}
