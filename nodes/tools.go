package nodes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weftrun/weft/capabilities/tool"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
)

// The names of the sections of a file.
const (
	modelsName    = "models"
	budgetsName   = "budgets"
	pricesName    = "prices"
	toolsName     = "tools"
	embeddersName = "embedders"
)

// maxAnswer limits the answer of a tool of a file, in bytes.
const maxAnswer = 1 << 20

// ToolEntry is an entry of the section tools of a file: an HTTP endpoint, another workflow,
// documents, skills, or the tools of a server: see [Documents], [Skills] and [MCPServer].
//
//	tools:
//	  weather:
//	    description: The weather of a city
//	    http: {url: "https://example.org/weather", query: {city: string}}
//	  refund:
//	    description: Refunds an order
//	    http:
//	      method: POST
//	      url: "https://example.org/orders/{order}/refund"
//	      path: {order: string}
//	      json: {amount: number, reason: {type: string, optional: true}}
//	      headers: {authorization: "Bearer ${secret:shop}"}
//	    approve: true
//	  research: {workflow: ./research.yaml}
//
// An answer of an endpoint has at most 1 MiB. The rules for addresses are those of [HTTP]. A
// workflow as a tool runs from its input to its end within one call, and cannot ask a person.
type ToolEntry struct {
	// Description is what the tool does, for the model; by default that of the workflow.
	Description string `json:"description,omitempty"`
	// HTTP is the endpoint that the tool calls.
	HTTP *HTTPTool `json:"http,omitempty"`
	// Workflow is the path of a workflow, whose input the arguments are and whose output is the
	// result.
	Workflow workflow.File `json:"workflow,omitzero"`
	// MCP is a server whose tools the entry has.
	MCP *MCPServer `json:"mcp,omitempty"`
	// Documents are files that the tool searches.
	Documents *Documents `json:"documents,omitempty"`
	// Skills are folders with instructions, whose tools the entry has.
	Skills *Skills `json:"skills,omitempty"`
	// Approve requires that a person approves each call.
	Approve bool `json:"approve,omitempty"`
	// Timeout limits a call; by default 1m.
	Timeout Duration `json:"timeout,omitempty"`

	once   sync.Once
	server *declaredServer    // of MCP
	docs   *declaredDocuments // of Documents
}

// HTTPTool is the endpoint of a tool. The fields of Path, Query and JSON are the arguments.
type HTTPTool struct {
	// Method is GET, or POST if there is a body, or another.
	Method string `json:"method,omitempty"`
	// URL is the address, in which {NAME} is an argument of Path.
	URL string `json:"url"`
	// Path are the arguments in the path, Query those in the query, JSON those of the body.
	Path  workflow.Form `json:"path,omitzero"`
	Query workflow.Form `json:"query,omitzero"`
	JSON  workflow.Form `json:"json,omitzero"`
	// Headers may contain secrets: Bearer ${secret:NAME}.
	Headers map[string]workflow.Secret `json:"headers,omitempty"`
	// AllowPrivate allows addresses of this machine and of private networks.
	AllowPrivate bool `json:"allow_private,omitempty"`
}

func (p Program) toolsSection() workflow.Section {
	s := workflow.Section{
		About: "the tools of the kinds tool and agent, by name",
		New:   func() workflow.Entry { return new(ToolEntry) },
		Params: map[string]string{
			"description": "what the tool does, for the model; by default the description of the workflow",
			"http":        "the endpoint: method, url, the arguments in path, query and json, headers, allow_private",
			"workflow":    "the path of a workflow, whose input the arguments are",
			"mcp":         "a server of the Model Context Protocol: command and env, or url, headers and allow_private; tools, by default all; resources and prompts as tools too",
			"documents":   "text files to search: files, such as docs/*.md, embedder, chunk_tokens and limit",
			"skills":      "folders with a SKILL.md: the folder that has them, and env",
			"approve":     "whether a person must approve each call",
			"timeout":     "the longest duration of a call, such as 30s; by default 1m",
		},
	}
	if p.Tools != nil {
		s.Taken = p.Tools.Names()
	}
	return s
}

// Check refuses an entry that is not one tool, and arguments without a place.
func (t *ToolEntry) Check(func(string) bool) error {
	given := 0
	for _, has := range []bool{t.HTTP != nil, !t.Workflow.IsZero(), t.MCP != nil, t.Documents != nil, t.Skills != nil} {
		if has {
			given++
		}
	}
	switch {
	case given != 1:
		return &refusal{"a tool has either http, workflow, mcp, documents or skills"}
	case t.MCP != nil && t.Description != "":
		return &refusal{"the tools of mcp have descriptions of their own"}
	case t.Skills != nil && t.Description != "":
		return &refusal{"skills have descriptions of their own"}
	case t.MCP != nil && t.Timeout >= 0:
		return t.MCP.check()
	case t.Timeout < 0:
		return &refusal{"timeout must not be negative"}
	case t.HTTP != nil:
		return t.HTTP.check()
	case t.Documents != nil:
		return t.Documents.check()
	case t.Skills != nil:
		return t.Skills.check()
	}
	return nil
}

var pathArgument = regexp.MustCompile(`\{([A-Za-z_][A-Za-z0-9_]*)\}`)

func (h *HTTPTool) check() error {
	if _, err := (&HTTP{URL: pathArgument.ReplaceAllString(h.URL, "x")}).target(); err != nil {
		return err
	}
	host, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(h.URL, "https://"), "http://"), "/")
	if strings.ContainsAny(host, "{}") {
		return &refusal{"the host of the url must be constant"}
	}
	var named, all []string
	for _, m := range pathArgument.FindAllStringSubmatch(h.URL, -1) {
		named = append(named, m[1])
		if !slices.Contains(h.Path.Names(), m[1]) {
			return &refusal{fmt.Sprintf("the url has {%s}, which is not under path", m[1])}
		}
	}
	for _, name := range slices.Concat(h.Path.Names(), h.Query.Names(), h.JSON.Names()) {
		if slices.Contains(all, name) {
			return &refusal{fmt.Sprintf("the argument %s is declared twice", name)}
		}
		all = append(all, name)
	}
	for _, name := range h.Path.Names() {
		if !slices.Contains(named, name) {
			return &refusal{fmt.Sprintf("path has %s, but the url has no {%s}", name, name)}
		}
	}
	return nil
}

// Open returns the tool, or a [tool.Source].
func (t *ToolEntry) Open(name string, env workflow.Env) (any, error) {
	if t.MCP != nil {
		t.once.Do(func() { t.server = &declaredServer{ToolEntry: t, name: name, env: env} })
		return t.server, nil
	}
	if t.Documents != nil {
		t.once.Do(func() { t.docs = t.openDocuments(name, env) })
		return t.docs, nil
	}
	if t.Skills != nil {
		return &declaredSkills{ToolEntry: t, name: name, env: env}, nil
	}
	c := &declaredTool{ToolEntry: t, env: env, info: tool.Info{
		Name: name, Description: t.Description, Timeout: time.Duration(t.Timeout), MaxResult: maxAnswer,
	}}
	if t.Approve {
		c.info.Mode = tool.Permit
	}
	var err error
	if t.HTTP != nil {
		c.info.Schema, err = workflow.FormSchema(t.HTTP.Path, t.HTTP.Query, t.HTTP.JSON)
		return c, err
	}
	w := t.Workflow.Workflow()
	if w == nil {
		return nil, &refusal{fmt.Sprintf("tools.%s: the workflow has mistakes", name)}
	}
	if c.info.Description == "" {
		c.info.Description = w.Description
	}
	c.info.Schema, err = w.InputSchema()
	return c, err
}

// CheckEnv reports secrets whose variables are not set.
func (t *ToolEntry) CheckEnv(env workflow.Env) error {
	if t.MCP != nil {
		return t.MCP.checkEnv(env)
	}
	if t.Skills != nil {
		return t.Skills.checkEnv(env)
	}
	if t.HTTP == nil {
		return nil
	}
	var errs []error
	for _, value := range t.HTTP.Headers {
		_, err := env.Reveal(value)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// EnvNames returns the variables of the environment that the programs of the tool get.
func (t *ToolEntry) EnvNames() []string {
	switch {
	case t.MCP != nil:
		return t.MCP.Env
	case t.Skills != nil:
		return t.Skills.Env
	}
	return nil
}

// declaredTool is a tool of a file.
type declaredTool struct {
	*ToolEntry
	info tool.Info
	env  workflow.Env
}

// Info implements [tool.Tool].
func (t *declaredTool) Info() tool.Info { return t.info }

// Call implements [tool.Tool]. Neither a result nor an error contains secrets of the file.
func (t *declaredTool) Call(ctx context.Context, in tool.Input) (tool.Output, error) {
	env := t.env.Covered()
	call := t.callWorkflow
	if t.HTTP != nil {
		call = t.callHTTP
	}
	text, err := call(ctx, in, env)
	if err != nil {
		return nil, errors.New(env.Redact(err.Error()))
	}
	return tool.Text(env.Redact(text)), nil
}

// callHTTP makes the request and returns the body.
func (t *declaredTool) callHTTP(ctx context.Context, in tool.Input, env workflow.Env) (string, error) {
	h := t.HTTP
	r := HTTP{Method: h.Method, URL: h.URL, Headers: h.Headers, AllowPrivate: h.AllowPrivate, MaxBody: maxAnswer, id: in.ID}
	var args map[string]json.RawMessage
	if err := json.Unmarshal(in.Arguments, &args); err != nil {
		return "", err
	}
	path, err := argumentsOf(h.Path, args)
	if err != nil {
		return "", err
	}
	r.URL = pathArgument.ReplaceAllStringFunc(h.URL, func(use string) string {
		return url.PathEscape(fmt.Sprint(path[use[1:len(use)-1]]))
	})
	query, err := argumentsOf(h.Query, args)
	if err != nil {
		return "", err
	}
	if data, err := json.Marshal(query); err != nil {
		return "", err
	} else if err := json.Unmarshal(data, &r.Query); err != nil {
		return "", err
	}
	if !h.JSON.IsZero() {
		body, err := argumentsOf(h.JSON, args)
		if err != nil {
			return "", err
		}
		r.JSON = body
	}
	res, err := r.Run(ctx, env)
	if err != nil {
		return "", err
	}
	return res.(HTTPResult).Text, nil
}

// argumentsOf returns the arguments that are fields of a form.
func argumentsOf(f workflow.Form, args map[string]json.RawMessage) (map[string]any, error) {
	own := map[string]json.RawMessage{}
	for _, name := range f.Names() {
		if v, ok := args[name]; ok {
			own[name] = v
		}
	}
	data, err := json.Marshal(own)
	if err != nil || f.IsZero() {
		return nil, err
	}
	return f.Convert(data)
}

// callWorkflow runs the workflow from its input to its end.
func (t *declaredTool) callWorkflow(ctx context.Context, in tool.Input, _ workflow.Env) (string, error) {
	w := t.Workflow.Workflow()
	var args map[string]json.RawMessage
	if err := json.Unmarshal(in.Arguments, &args); err != nil {
		return "", err
	}
	start, err := w.Input(args)
	if err != nil {
		return "", err
	}
	g, err := w.Compile(graph.Config{})
	if err != nil {
		return "", err
	}
	res, err := g.Invoke(ctx, start, graph.RunOptions{})
	switch {
	case err != nil:
		return "", err
	case res.Status == graph.Interrupted:
		return "", &refusal{fmt.Sprintf("the workflow %s asks a person, which a tool cannot do", w.Name)}
	}
	data, err := json.Marshal(w.Output(&res.State))
	if len(data) > maxAnswer {
		return "", &refusal{fmt.Sprintf("the output of %s is larger than %d bytes", w.Name, maxAnswer)}
	}
	return string(data), err
}

var (
	_ workflow.Entry     = (*ToolEntry)(nil)
	_ workflow.Checker   = (*ToolEntry)(nil)
	_ workflow.EnvReader = (*ToolEntry)(nil)
	_ tool.Tool          = (*declaredTool)(nil)
)
