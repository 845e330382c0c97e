package mcp

import (
	"context"
	"errors"
	"fmt"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weftrun/weft/state/message"
)

// Resource is something that a server lets clients read.
type Resource struct {
	URI         string `json:"uri"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	MIME        string `json:"mimeType,omitempty"` // its media type; "" is unknown
	Size        int64  `json:"size,omitempty"`     // in bytes; 0 is unknown
}

// Prompt is a template of messages that a server offers.
type Prompt struct {
	Name        string           `json:"name"`
	Description string           `json:"description,omitempty"`
	Arguments   []PromptArgument `json:"arguments,omitempty"`
}

// PromptArgument is a value that a Prompt takes.
type PromptArgument struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required,omitempty"`
}

// Resources returns the resources that the server lists. It may let clients read others.
func (c *Client) Resources(ctx context.Context) ([]Resource, error) {
	list, err := pages(ctx, c, "resources/list", func(ctx context.Context, s *session, cursor string) ([]*sdk.Resource, string, error) {
		r, err := s.ListResources(ctx, &sdk.ListResourcesParams{Cursor: cursor})
		if err != nil {
			return nil, "", err
		}
		return r.Resources, r.NextCursor, nil
	})
	all := make([]Resource, len(list))
	for i, r := range list {
		all[i] = Resource{r.URI, r.Name, r.Description, r.MIMEType, r.Size}
	}
	return all, err
}

// Read returns the content of a resource: texts, images, and other bytes in the JSON form of the
// protocol, with the fields uri, mimeType and blob.
func (c *Client) Read(ctx context.Context, uri string) ([]message.Part, error) {
	r, err := do(ctx, c, "resources/read "+uri, func(ctx context.Context, s *session) (*sdk.ReadResourceResult, error) {
		return s.ReadResource(ctx, &sdk.ReadResourceParams{URI: uri})
	})
	if err != nil {
		return nil, err
	}
	var parts []message.Part
	for _, content := range r.Contents {
		p, err := partOf(content)
		if err != nil {
			return nil, fmt.Errorf("mcp: server %.100q: resource %.100q: %w", c.server.label(), uri, err)
		}
		parts = append(parts, p)
	}
	return parts, nil
}

// Prompts returns the prompts of the server.
func (c *Client) Prompts(ctx context.Context) ([]Prompt, error) {
	list, err := pages(ctx, c, "prompts/list", func(ctx context.Context, s *session, cursor string) ([]*sdk.Prompt, string, error) {
		r, err := s.ListPrompts(ctx, &sdk.ListPromptsParams{Cursor: cursor})
		if err != nil {
			return nil, "", err
		}
		return r.Prompts, r.NextCursor, nil
	})
	all := make([]Prompt, len(list))
	for i, p := range list {
		all[i] = Prompt{Name: p.Name, Description: p.Description}
		for _, a := range p.Arguments {
			all[i].Arguments = append(all[i].Arguments, PromptArgument{a.Name, a.Description, a.Required})
		}
	}
	return all, err
}

// Prompt returns the messages of a prompt.
func (c *Client) Prompt(ctx context.Context, name string, arguments map[string]string) ([]message.Message, error) {
	r, err := do(ctx, c, "prompts/get "+name, func(ctx context.Context, s *session) (*sdk.GetPromptResult, error) {
		return s.GetPrompt(ctx, &sdk.GetPromptParams{Name: name, Arguments: arguments})
	})
	if err != nil {
		return nil, err
	}
	var all []message.Message
	for _, m := range r.Messages {
		parts, err := partsOf([]sdk.Content{m.Content})
		own := message.UserParts(parts...)
		switch m.Role {
		case "user":
		case "assistant":
			own.Role = message.RoleAssistant
		default:
			err = errors.Join(err, fmt.Errorf("the role is %.100q, not user or assistant", m.Role))
		}
		if err != nil {
			return nil, fmt.Errorf("mcp: server %.100q: prompt %.100q: %w", c.server.label(), name, err)
		}
		all = append(all, own)
	}
	return all, nil
}
