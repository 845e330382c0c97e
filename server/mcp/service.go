package mcp

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Options are the settings of the protocol.
type Options struct {
	Version string       // of the program, for clients
	Body    int64        // bytes of a request
	Log     *slog.Logger // errors of the transport; nil means none
}

// service is one caller's view of a server.
type service struct {
	backend Backend
	sdk     *sdk.Server

	mu    sync.Mutex
	tools map[string]string // what is known of each tool, by name
}

// instructions say how the tools belong together.
const instructions = "Each assistant is a tool. If a run waits for an answer, the error names the thread and the question: " +
	"show the question to a person, and give the answer with " + answerTool + "."

func newService(b Backend, o Options) *service {
	s := &service{backend: b, tools: map[string]string{}}
	s.sdk = sdk.NewServer(&sdk.Implementation{Name: "weft", Title: "Weft", Version: o.Version}, &sdk.ServerOptions{
		Instructions: instructions, Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}, Resources: &sdk.ResourceCapabilities{}},
	})
	s.addQuestionTools()
	s.addResources()
	s.sdk.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
			if strings.HasPrefix(method, "tools/") {
				if err := s.refresh(ctx); err != nil {
					return nil, err
				}
			}
			return next(ctx, method, r)
		}
	})
	return s
}

// refresh makes the tools those of the assistants that there are now.
func (s *service) refresh(ctx context.Context) error {
	list, err := s.backend.Assistants(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := map[string]string{}
	for i, name := range names(list) {
		a := list[i]
		now[name] = strings.Join([]string{a.ID, a.Name, a.Description, string(a.Input)}, "\x00")
		if s.tools[name] != now[name] {
			s.sdk.AddTool(s.assistantTool(name, a))
		}
	}
	for name := range s.tools {
		if _, ok := now[name]; !ok {
			s.sdk.RemoveTools(name)
		}
	}
	s.tools = now
	return nil
}

// The addresses of resources.
const (
	questionsURI = "weft://questions"
	threadURI    = "weft://threads/"
)

func (s *service) addResources() {
	s.sdk.AddResource(&sdk.Resource{
		URI: questionsURI, Name: "questions", Description: "The open questions of all threads.", MIMEType: "application/json",
	}, func(ctx context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		list, err := s.backend.Questions(ctx, "", maxQuestions)
		if err != nil {
			return nil, err
		}
		return resource(r.Params.URI, questions{list})
	})
	s.sdk.AddResourceTemplate(&sdk.ResourceTemplate{
		URITemplate: threadURI + "{thread_id}", Name: "thread", Description: "The state of a thread, with its open questions.", MIMEType: "application/json",
	}, func(ctx context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		id := strings.TrimPrefix(r.Params.URI, threadURI)
		values, err := s.backend.State(ctx, id)
		if err != nil {
			return nil, err
		}
		list, err := s.backend.Questions(ctx, id, maxQuestions)
		if err != nil {
			return nil, err
		}
		return resource(r.Params.URI, struct {
			Values    json.RawMessage `json:"values"`
			Questions []Question      `json:"questions"`
		}{values, list})
	})
}

func resource(uri string, v any) (*sdk.ReadResourceResult, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: uri, MIMEType: "application/json", Text: string(data)}}}, nil
}

// Handler returns the handler of the requests of one caller. The contexts of calls of the Backend
// need not end when the caller goes.
func Handler(b Backend, o Options) http.Handler {
	s := newService(b, o)
	return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s.sdk }, &sdk.StreamableHTTPOptions{
		Stateless: true, MaxRequestBodyBytes: o.Body, Logger: o.Log,
		DisableLocalhostProtection: true, // which names are accepted is decided before
	})
}

// Serve serves one client until it closes in, or ctx ends. A message is a line.
func Serve(ctx context.Context, b Backend, in io.ReadCloser, out io.WriteCloser, o Options) error {
	return newService(b, o).sdk.Run(ctx, &sdk.IOTransport{Reader: in, Writer: out, MaxLineLength: int(o.Body)})
}
