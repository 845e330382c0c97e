package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/weftrun/weft/capabilities/tool"
	"github.com/weftrun/weft/state/message"
)

// readingTool is a tool by which an agent reads what a server offers beside its tools.
type readingTool struct {
	info tool.Info
	read func(ctx context.Context, args readingArgs) (tool.Output, error)
}

// readingArgs are the arguments of all of these tools.
type readingArgs struct {
	URI       string            `json:"uri"`
	Name      string            `json:"name"`
	Arguments map[string]string `json:"arguments"`
}

// The schemas of the arguments.
const (
	noArguments    = `{"type": "object", "properties": {}, "additionalProperties": false}`
	resourceToRead = `{"type": "object", "properties": {"uri": {"type": "string"}}, "required": ["uri"], "additionalProperties": false}`
	promptToGet    = `{"type": "object", "properties": {"name": {"type": "string"}, "arguments": {"type": "object", "additionalProperties": {"type": "string"}}},
		"required": ["name"], "additionalProperties": false}`
)

// readingTools returns the tools that Server.Resources and Server.Prompts ask for.
func (c *Client) readingTools() (list []tool.Tool) {
	add := func(name, about, schema string, read func(context.Context, readingArgs) (tool.Output, error)) {
		t := &readingTool{read: read, info: tool.Info{Name: c.toolName(name), Description: about, Schema: json.RawMessage(schema), Timeout: c.server.timeout()}}
		if c.server.Permit != nil && c.server.Permit(name, Hints{ReadOnly: true, Idempotent: true, OpenWorld: true}) {
			t.info.Mode = tool.Permit
		}
		list = append(list, t)
	}
	if c.server.Resources {
		add("list_resources", "Lists what this server lets you read, with the uri of each", noArguments, func(ctx context.Context, _ readingArgs) (tool.Output, error) {
			all, err := c.Resources(ctx)
			return dataOf(all, err)
		})
		add("read_resource", "Reads a resource of this server by its uri", resourceToRead, func(ctx context.Context, a readingArgs) (tool.Output, error) { return c.Read(ctx, a.URI) })
	}
	if c.server.Prompts {
		add("list_prompts", "Lists the prompts of this server with their arguments", noArguments, func(ctx context.Context, _ readingArgs) (tool.Output, error) {
			all, err := c.Prompts(ctx)
			return dataOf(all, err)
		})
		add("get_prompt", "Returns the messages of a prompt of this server", promptToGet, func(ctx context.Context, a readingArgs) (out tool.Output, err error) {
			ms, err := c.Prompt(ctx, a.Name, a.Arguments)
			for _, m := range ms {
				out = append(append(out, message.Text(string(m.Role)+":")), m.Content...)
			}
			return out, err
		})
	}
	return list
}

// withReading adds the tools that read to those of the server.
func (c *Client) withReading(own []tool.Tool) ([]tool.Tool, error) {
	for _, t := range c.readingTools() {
		name := t.Info().Name
		if slices.ContainsFunc(own, func(o tool.Tool) bool { return o.Info().Name == name }) {
			return nil, fmt.Errorf("%w: server %.100q has a tool %.100q of its own, which Server.Tools may leave out", ErrConfig, c.server.label(), name)
		}
		own = append(own, t)
	}
	return own, nil
}

func dataOf(v any, err error) (tool.Output, error) {
	if err != nil {
		return nil, err
	}
	p, err := message.Data(v)
	return tool.Output{p}, err
}

// Info implements [tool.Tool].
func (t *readingTool) Info() tool.Info { return t.info }

// Call implements [tool.Tool].
func (t *readingTool) Call(ctx context.Context, in tool.Input) (tool.Output, error) {
	var args readingArgs
	if len(in.Arguments) > 0 {
		if err := json.Unmarshal(in.Arguments, &args); err != nil {
			return nil, err
		}
	}
	return t.read(ctx, args)
}
