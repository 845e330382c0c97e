package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weftrun/weft/capabilities/tool"
	"github.com/weftrun/weft/state/message"
)

// Tools returns the tools of the server. An ErrConfig names each tool in Server.Tools that the
// server does not have. It also names each tool that cannot be part of a set, such as one whose
// schema is invalid. Server.Resources and Server.Prompts add tools that read.
func (c *Client) Tools(ctx context.Context) ([]tool.Tool, error) {
	list, err := pages(ctx, c, "tools/list", func(ctx context.Context, s *session, cursor string) ([]*sdk.Tool, string, error) {
		r, err := s.ListTools(ctx, &sdk.ListToolsParams{Cursor: cursor})
		if err != nil {
			return nil, "", err
		}
		return r.Tools, r.NextCursor, nil
	})
	if err != nil {
		return nil, err
	}
	var all []tool.Tool
	var errs []error
	left := slices.Clone(c.server.Tools)
	for _, t := range list {
		if c.server.Tools != nil {
			i := slices.Index(left, t.Name)
			if i < 0 {
				continue
			}
			left = slices.Delete(left, i, i+1)
		}
		own, err := c.tool(t)
		errs = append(errs, err)
		all = append(all, own)
	}
	for _, name := range left {
		errs = append(errs, fmt.Errorf("%w: server %.100q has no tool %.100q", ErrConfig, c.server.label(), name))
	}
	if err := errors.Join(errs...); err != nil {
		return all, err
	}
	return c.withReading(all)
}

// refused are the characters that the name of a tool cannot have.
var refused = regexp.MustCompile(`[^A-Za-z0-9_-]`)

func (c *Client) tool(t *sdk.Tool) (tool.Tool, error) {
	own := &remoteTool{c: c, name: t.Name, info: tool.Info{Name: c.toolName(t.Name), Description: t.Description, Timeout: c.server.timeout()}}
	if c.server.Permit != nil && c.server.Permit(t.Name, hintsOf(t.Annotations)) {
		own.info.Mode = tool.Permit
	}
	var err error
	if own.info.Schema, err = json.Marshal(t.InputSchema); err == nil {
		_, err = tool.NewSet(own)
	}
	if err != nil {
		err = fmt.Errorf("%w: server %.100q: tool %.100q, which Server.Tools may leave out: %w", ErrConfig, c.server.label(), t.Name, err)
	}
	return own, err
}

// toolName returns the name of a tool for models.
func (c *Client) toolName(name string) string {
	name = refused.ReplaceAllString(name, "_")
	if c.server.Name != "" {
		name = refused.ReplaceAllString(c.server.Name, "_") + "_" + name
	}
	return name
}

func hintsOf(a *sdk.ToolAnnotations) Hints {
	if a == nil {
		return Hints{Destructive: true, OpenWorld: true}
	}
	unless := func(p *bool) bool { return p == nil || *p }
	return Hints{ReadOnly: a.ReadOnlyHint, Destructive: unless(a.DestructiveHint), Idempotent: a.IdempotentHint, OpenWorld: unless(a.OpenWorldHint)}
}

// remoteTool is a tool of a server.
type remoteTool struct {
	c    *Client
	name string // that of the server
	info tool.Info
}

// Info implements [tool.Tool].
func (t *remoteTool) Info() tool.Info { return t.info }

// Call implements [tool.Tool].
func (t *remoteTool) Call(ctx context.Context, in tool.Input) (tool.Output, error) {
	var r *sdk.CallToolResult
	err := t.c.asking.during(ctx, t.c.server.Ask != nil, func(ctx context.Context) (err error) {
		r, err = do(ctx, t.c, "tools/call "+t.name, func(ctx context.Context, s *session) (*sdk.CallToolResult, error) {
			return s.CallTool(ctx, &sdk.CallToolParams{Name: t.name, Arguments: in.Arguments})
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(r.InputRequests) > 0 {
		return nil, &ServerError{Server: t.c.server.label(), Request: "tools/call " + t.name, Err: errors.New("it asks for more input, which this client cannot give")}
	}
	parts, err := partsOf(r.Content)
	if err == nil && len(parts) == 0 && r.StructuredContent != nil {
		var p message.Part
		p, err = message.Data(r.StructuredContent)
		parts = append(parts, p)
	}
	if err != nil {
		return nil, fmt.Errorf("mcp: server %.100q: tool %.100q: %w", t.c.server.label(), t.name, err)
	}
	if r.IsError {
		return nil, errors.New(textOf(parts))
	}
	return parts, nil
}

// textOf returns the text of parts, for an error.
func textOf(parts []message.Part) string {
	var lines []string
	for _, p := range parts {
		if p.Type == message.TypeText {
			lines = append(lines, p.Text)
		}
	}
	if len(lines) == 0 {
		return "the tool has failed without a message"
	}
	return strings.Join(lines, "\n")
}

// partsOf returns content as the parts of a message.
func partsOf(content []sdk.Content) ([]message.Part, error) {
	var parts []message.Part
	for _, c := range content {
		var p message.Part
		var err error
		switch c := c.(type) {
		case *sdk.TextContent:
			p = message.Text(c.Text)
		case *sdk.ImageContent:
			p = message.ImageBytes(c.MIMEType, c.Data)
		case *sdk.EmbeddedResource:
			p, err = partOf(c.Resource)
		default: // audio, links and what later versions bring
			p, err = message.Data(c)
		}
		if err != nil {
			return nil, err
		}
		parts = append(parts, p)
	}
	return parts, nil
}

// partOf returns the content of a resource: text, an image, or its JSON form.
func partOf(r *sdk.ResourceContents) (message.Part, error) {
	switch {
	case r == nil:
		return message.Text(""), nil
	case r.Blob == nil:
		return message.Text(r.Text), nil
	case strings.HasPrefix(r.MIMEType, "image/"):
		return message.ImageBytes(r.MIMEType, r.Blob), nil
	}
	return message.Data(r)
}

// pages reads a list page by page.
func pages[T any](ctx context.Context, c *Client, request string, page func(context.Context, *session, string) ([]T, string, error)) ([]T, error) {
	return do(ctx, c, request, func(ctx context.Context, s *session) (all []T, err error) {
		cursor := ""
		for range maxPages {
			part, next, err := page(ctx, s, cursor)
			if err != nil {
				return nil, err
			}
			all = append(all, part...)
			if next == "" {
				return all, nil
			}
			cursor = next
		}
		return nil, fmt.Errorf("the list has more than %d pages", maxPages)
	})
}
