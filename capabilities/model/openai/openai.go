package openai

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"strings"
	"time"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/internal/modelhttp"
)

// Config configures a model and its server.
type Config struct {
	// Model is the model of requests that name none.
	Model string
	// BaseURL is the address up to "/chat/completions"; "" is that in OPENAI_BASE_URL, or else
	// OpenAI's.
	BaseURL string
	// Key is sent as a bearer token. "" is that in OPENAI_API_KEY, unless BaseURL is set here,
	// because the key of one server must not be sent to another. A server that needs no key gets
	// none.
	Key string
	// Header is sent with each request, such as an organization.
	Header http.Header
	// Form is how an answer that matches a schema is requested.
	Form Form
	// Idle limits the wait for the beginning of the answer and each pause in it; 0 is two minutes.
	Idle time.Duration
	// Timeout limits the whole answer; 0 is ten minutes.
	Timeout time.Duration
	// Client sends the requests. nil uses the default transport and follows redirects only within
	// one host, because other hosts must not get the key and the conversation.
	Client *http.Client
	// Now returns the time with which a date in Retry-After is compared; nil is time.Now.
	Now func() time.Time
}

// Form is how a server is asked for an answer that matches a schema. The answer is always checked:
// see model.Decode.
type Form string

// The forms, for servers with different features.
const (
	FormSchema Form = ""       // response_format json_schema
	FormObject Form = "object" // response_format json_object, and the schema in a system message
	FormPrompt Form = "prompt" // the schema in a system message alone
)

// ErrConfig is returned for an invalid configuration.
var ErrConfig = errors.New("openai: invalid configuration")

// Model is a model on a server with OpenAI's API. It is safe for concurrent use.
type Model struct {
	cfg    Config
	http   *modelhttp.Client
	client sdk.Client
	own    bool // it is OpenAI's own server
}

var _ model.Model = (*Model)(nil)

const ownURL = "https://api.openai.com/v1"

// New returns a model, or an [ErrConfig]. It sends no request.
func New(cfg Config) (*Model, error) {
	client, err := modelhttp.New(modelhttp.Config{
		URL: cfg.BaseURL, OwnURL: ownURL, URLVariable: "OPENAI_BASE_URL", Key: cfg.Key, KeyVariables: []string{"OPENAI_API_KEY"},
		Header: cfg.Header, Idle: cfg.Idle, Timeout: cfg.Timeout, Client: cfg.Client, Now: cfg.Now,
		Form: string(cfg.Form), Forms: []string{"", string(FormObject), string(FormPrompt)},
		Failed: errorResponse, Media: []string{"text/event-stream", "application/json"},
	}, ErrConfig)
	if err != nil {
		return nil, err
	}
	m := &Model{cfg: cfg, http: client, own: strings.HasPrefix(client.URL, "https://api.openai.com/")}
	m.client = sdk.Client{Options: m.options()}
	return m, nil
}

func (m *Model) options() []option.RequestOption {
	opts := []option.RequestOption{
		option.WithBaseURL(strings.TrimSuffix(m.http.URL, "/") + "/"),
		option.WithHTTPClient(m.http.HTTP()),
		option.WithMaxRetries(0),
		option.WithHeader("Accept", "text/event-stream, application/json"),
	}
	if m.http.Key != "" {
		opts = append(opts, option.WithAPIKey(m.http.Key))
	}
	for name, values := range m.cfg.Header {
		for i, v := range values {
			set := option.WithHeaderAdd
			if i == 0 {
				set = option.WithHeader
			}
			opts = append(opts, set(name, v))
		}
	}
	return opts
}

// Stream implements model.Model.
func (m *Model) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Chunk, error] {
	if r.Model == "" {
		r.Model = m.cfg.Model
	}
	return func(yield func(model.Chunk, error) bool) {
		stopped, err := m.stream(ctx, r, func(c model.Chunk) bool { return yield(c, nil) })
		if err != nil && !stopped {
			yield(model.Chunk{}, err)
		}
	}
}

// stream sends the request and yields the answer. stopped is true if the caller stopped reading.
func (m *Model) stream(ctx context.Context, r model.Request, yield func(model.Chunk) bool) (stopped bool, err error) {
	params, opts, err := m.request(r)
	if err != nil {
		return false, err
	}
	err = m.http.Do(ctx, r.Model, func(ctx context.Context) error {
		var res *http.Response
		if err := m.client.Post(ctx, "chat/completions", params, &res, opts...); err != nil {
			return err
		}
		defer res.Body.Close()
		a := answer{m: m, name: r.Model, yield: yield}
		err := a.read(res)
		if stopped = a.stopped; stopped {
			return nil
		}
		return err
	})
	return stopped, err
}
