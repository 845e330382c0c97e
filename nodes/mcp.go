package nodes

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/weftrun/weft/capabilities/tool"
	"github.com/weftrun/weft/capabilities/tool/mcp"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/state/message"
)

// mcpIdle is how long a server of a file runs without a request.
const mcpIdle = time.Minute

// MCPServer is a server of the Model Context Protocol whose tools a file uses.
//
//	tools:
//	  files: {mcp: {command: [npx, -y, "@modelcontextprotocol/server-filesystem", "."]}}
//	  issues:
//	    mcp: {url: "https://example.org/mcp", headers: {authorization: "Bearer ${secret:issues}"}}
//
// The name of the entry means all tools of the server; one of them is NAME_TOOL, such as
// files_read_file. The server is asked for its tools when a node first needs them. A program runs
// in the folder of the workflow with PATH, HOME and the named variables, needs --allow-exec as
// [Exec] does, and ends after a minute without a request.
//
// What the server asks a person is a question of the run. The call is sent again with the answer.
type MCPServer struct {
	// Command is a program and its arguments.
	Command []string `json:"command,omitempty"`
	// Env are the names of the variables of the environment that the program gets.
	Env []string `json:"env,omitempty"`
	// URL is the address of a server of the streamable HTTP transport.
	URL workflow.EnvText `json:"url,omitzero"`
	// Headers may contain secrets: Bearer ${secret:NAME}.
	Headers map[string]workflow.Secret `json:"headers,omitempty"`
	// AllowPrivate allows addresses of this machine and of private networks.
	AllowPrivate bool `json:"allow_private,omitempty"`
	// Tools are the tools to use, by the names that the server gives them; by default all.
	Tools []string `json:"tools,omitempty"`
	// Resources adds the tools list_resources and read_resource.
	Resources bool `json:"resources,omitempty"`
	// Prompts adds the tools list_prompts and get_prompt.
	Prompts bool `json:"prompts,omitempty"`
}

// check refuses a server without a place, and settings that belong to the other kind of place.
func (m *MCPServer) check() error {
	text, literal := m.URL.Literal()
	switch {
	case (len(m.Command) == 0) == m.URL.IsZero():
		return &refusal{"mcp has either command or url"}
	case len(m.Command) > 0 && m.Command[0] == "":
		return &refusal{"command must name a program"}
	case len(m.Command) > 0 && (len(m.Headers) > 0 || m.AllowPrivate):
		return &refusal{"headers and allow_private are for a url"}
	case len(m.Command) == 0 && len(m.Env) > 0:
		return &refusal{"env is for a command"}
	case literal:
		u, err := url.Parse(text)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil {
			return &refusal{fmt.Sprintf("url must be an http or https address without a password, not %q", text)}
		}
	}
	return (&Exec{Env: m.Env}).Check(func(string) bool { return false })
}

// checkEnv reports programs that must not be started, and variables that are not set.
func (m *MCPServer) checkEnv(env workflow.Env) error {
	if len(m.Command) > 0 {
		return (&Exec{Env: m.Env}).CheckEnv(env)
	}
	_, err := env.Text(m.URL)
	errs := []error{err}
	for _, value := range m.Headers {
		_, err := env.Reveal(value)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// declaredServer is a server of a file.
type declaredServer struct {
	*ToolEntry
	name string
	env  workflow.Env

	mu     sync.Mutex
	client *mcp.Client // nil before it is used
	tools  []tool.Tool // nil before they are known
}

// Name implements [tool.Source].
func (d *declaredServer) Name() string { return d.name }

// Tools implements [tool.Source].
func (d *declaredServer) Tools(ctx context.Context) ([]tool.Tool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.tools != nil {
		return d.tools, nil
	}
	env := d.env.Covered()
	c, err := d.connect(env)
	if err != nil {
		return nil, fmt.Errorf("tools.%s: %w", d.name, err)
	}
	all, err := c.Tools(ctx)
	if err != nil {
		return nil, errors.New(env.Redact(fmt.Sprintf("tools.%s: %v", d.name, err)))
	}
	for i, t := range all {
		all[i] = coveredTool{t, d.env}
	}
	d.tools = all
	return all, nil
}

// connect returns the client of the server.
func (d *declaredServer) connect(env workflow.Env) (*mcp.Client, error) {
	if d.client != nil {
		return d.client, nil
	}
	s, err := d.MCP.server(env)
	if err != nil {
		return nil, err
	}
	s.Name, s.Timeout, s.Idle, s.Ask = d.name, time.Duration(d.Timeout), mcpIdle, askPerson
	if d.Approve {
		s.Permit = func(string, mcp.Hints) bool { return true }
	}
	d.client, err = mcp.New(s)
	return d.client, err
}

// server returns how the server is reached.
func (m *MCPServer) server(env workflow.Env) (s mcp.Server, err error) {
	s.Tools, s.Resources, s.Prompts = m.Tools, m.Resources, m.Prompts
	if len(m.Command) == 0 {
		if s.URL, err = env.Text(m.URL); err != nil {
			return s, err
		}
		s.HTTP, s.Header = clients.of(m.AllowPrivate), http.Header{}
		for name, secret := range m.Headers {
			value, err := env.Reveal(secret)
			if err != nil {
				return s, err
			}
			s.Header.Set(name, value)
		}
		return s, nil
	}
	if !env.AllowExec {
		return s, errNoExec
	}
	e := &Exec{Command: m.Command, Env: m.Env}
	c, err := e.command(env)
	if err != nil {
		return s, err
	}
	s.Command, s.Dir, s.Env = append([]string{c.Path}, m.Command[1:]...), c.Dir, withDefaults(c.Env, m.Env)
	s.Dir, err = filepath.Abs(s.Dir)
	return s, err
}

// askPerson asks a person what a server wants to know.
func askPerson(ctx context.Context, q mcp.Question) (mcp.Reply, error) {
	sum := sha256.Sum256([]byte(q.Message + "\x00" + string(q.Schema)))
	prompt, more, _ := strings.Cut(strings.TrimSpace(q.Message), "\n")
	data, err := graph.Ask[json.RawMessage](ctx, graph.Question{
		Prompt: prompt, Detail: strings.TrimSpace(more), Schema: q.Schema, Key: "mcp/" + tool.ID(ctx) + "/" + hex.EncodeToString(sum[:8]),
	})
	switch {
	case errors.Is(err, graph.ErrDeclined):
		return mcp.Reply{Action: "decline"}, nil
	case errors.Is(err, graph.ErrExpired):
		return mcp.Reply{Action: "cancel"}, nil
	case err != nil:
		return mcp.Reply{}, err
	}
	r := mcp.Reply{Action: "accept"}
	return r, json.Unmarshal(data, &r.Content)
}

// coveredTool is a tool whose results and errors do not contain secrets of the file.
type coveredTool struct {
	tool.Tool
	env workflow.Env
}

// Call implements [tool.Tool].
func (t coveredTool) Call(ctx context.Context, in tool.Input) (tool.Output, error) {
	env := t.env.Covered()
	out, err := t.Tool.Call(ctx, in)
	if errors.Is(err, graph.ErrInterrupted) {
		return nil, err
	}
	if err != nil {
		return nil, errors.New(env.Redact(err.Error()))
	}
	for i, p := range out {
		switch p.Type {
		case message.TypeText:
			out[i].Text = env.Redact(p.Text)
		case message.TypeData:
			out[i].Data = json.RawMessage(env.Redact(string(p.Data)))
		}
	}
	return out, nil
}

var _ tool.Source = (*declaredServer)(nil)
