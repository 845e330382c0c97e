package anthropic

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"time"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/internal/modelhttp"
)

// Config configures a model.
type Config struct {
	// Model is the model of requests that name none.
	Model string
	// BaseURL is the address up to "/v1/messages"; "" is that in ANTHROPIC_BASE_URL, or else
	// Anthropic's.
	BaseURL string
	// Key is the key of the API. If Key and BaseURL are "", the key is that in ANTHROPIC_API_KEY.
	// If BaseURL is set, "" sends no key, because another server must not get that key.
	Key string
	// Header has further headers of each request, such as anthropic-beta.
	Header http.Header
	// MaxTokens limits answers of requests without a limit, because the API needs one; 0 is 8192.
	MaxTokens int
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

// Form is how a server is asked for an answer that matches a schema. Stream does not check the
// answer; model.Decode does, with each form.
type Form string

// The forms.
const (
	// FormSchema sends the schema as output_config, if the API can enforce it; otherwise it is
	// FormPrompt.
	FormSchema Form = ""
	// FormPrompt writes the schema into the system prompt.
	FormPrompt Form = "prompt"
)

// ErrConfig is returned when a configuration is not valid.
var ErrConfig = errors.New("anthropic: invalid configuration")

// Model is a model of Anthropic. It is safe for concurrent use.
type Model struct {
	cfg      Config
	http     *modelhttp.Client
	messages sdk.MessageService
}

var _ model.Model = (*Model)(nil)

const ownURL = "https://api.anthropic.com"

// New returns a model, or an [ErrConfig]. It sends no request.
func New(cfg Config) (*Model, error) {
	var own error
	if cfg.MaxTokens < 0 {
		own = fmt.Errorf("%w: MaxTokens must not be negative (got %d)", ErrConfig, cfg.MaxTokens)
	}
	cfg.MaxTokens = cmp.Or(cfg.MaxTokens, 8192)
	client, err := modelhttp.New(modelhttp.Config{
		URL: cfg.BaseURL, OwnURL: ownURL, URLVariable: "ANTHROPIC_BASE_URL", Key: cfg.Key, KeyVariables: []string{"ANTHROPIC_API_KEY"},
		Header: cfg.Header, Idle: cfg.Idle, Timeout: cfg.Timeout, Client: cfg.Client, Now: cfg.Now,
		Form: string(cfg.Form), Forms: []string{"", string(FormPrompt)},
		Failed: jsonResponse, Media: []string{"text/event-stream"},
	}, ErrConfig)
	if err = errors.Join(err, own); err != nil {
		return nil, err
	}
	m := &Model{cfg: cfg, http: client}
	m.messages = sdk.NewMessageService(m.options()...)
	return m, nil
}

func (m *Model) options() []option.RequestOption {
	opts := []option.RequestOption{
		option.WithBaseURL(strings.TrimSuffix(m.http.URL, "/") + "/"),
		option.WithHTTPClient(m.http.HTTP()),
		option.WithMaxRetries(0),
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
		params, opts, err := m.request(r)
		if err != nil {
			yield(model.Chunk{}, err)
			return
		}
		a := answer{m: m, yield: func(c model.Chunk) bool { return yield(c, nil) }}
		err = m.http.Do(ctx, r.Model, func(ctx context.Context) error {
			stream := m.messages.NewStreaming(ctx, params, opts...)
			defer func() { _ = a.close(stream) }()
			return a.read(stream)
		})
		if err != nil && !a.stopped {
			yield(model.Chunk{}, err)
		}
	}
}

// Provider returns the provider whose models are Anthropic's. It has no OpenEmbedder, because the
// API has no embeddings.
func Provider() model.Provider {
	return model.Provider{
		URL: ownURL, URLVariable: "ANTHROPIC_BASE_URL", KeyVariable: "ANTHROPIC_API_KEY",
		Open: func(c model.Config) (model.Model, error) {
			form := Form(c.Answers)
			switch c.Answers {
			case "schema":
				form = FormSchema
			case "object": // the API has no such form
				form = FormPrompt
			}
			return New(Config{Model: c.Model, BaseURL: c.URL, Key: c.Key, Timeout: c.Timeout, Form: form})
		},
	}
}

// jsonResponse is errorResponse for a whole response. JSON with status 200 that reports no error is
// a bad answer, even if it is an array, a string or a number.
func jsonResponse(status int, body []byte) *model.Error {
	e := errorResponse(status, body)
	var top struct {
		Type  string          `json:"type"`
		Error json.RawMessage `json:"error"`
	}
	_ = json.Unmarshal(body, &top) // top stays empty if the value is not an object
	if status == 0 && json.Valid(body) && top.Type != "error" && (len(top.Error) == 0 || string(top.Error) == "null") {
		e.Kind = model.BadAnswer
	}
	return e
}

// errorResponse returns the failure that a server reports. status is 0 if the response had status
// 200: the failure is an event of a stream, or JSON in place of a stream.
func errorResponse(status int, body []byte) *model.Error {
	var reported struct {
		Error struct {
			Type    string `json:"type"`
			Message string `json:"message"`
		} `json:"error"`
	}
	e := &model.Error{Status: status, Message: string(body)}
	if json.Unmarshal(body, &reported) == nil && reported.Error.Message != "" {
		e.Message = reported.Error.Message
	}
	e.Kind = kind(status, reported.Error.Type, strings.ToLower(e.Message))
	return e
}

// kind classifies a failure by its text, or else by its type, or else by its status. text is in
// lower case. A failure in a response with status 200 has status 0.
func kind(status int, typ, text string) model.Kind {
	switch {
	case typ == "request_too_large", strings.Contains(text, "prompt is too long"), strings.Contains(text, "exceed context limit"):
		return model.ContextTooLong
	case typ == "billing_error", strings.Contains(text, "credit balance is too low"):
		return model.Quota
	}
	switch typ {
	case "rate_limit_error":
		return model.RateLimited
	case "overloaded_error", "api_error":
		return model.Overloaded
	case "timeout_error":
		return model.Timeout
	case "authentication_error", "permission_error":
		return model.Auth
	case "invalid_request_error", "not_found_error":
		return model.Invalid
	}
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return model.Auth
	case status == http.StatusPaymentRequired:
		return model.Quota
	case status == http.StatusTooManyRequests:
		return model.RateLimited
	case status == http.StatusRequestTimeout, status == http.StatusGatewayTimeout:
		return model.Timeout
	case status == http.StatusRequestEntityTooLarge:
		return model.ContextTooLong
	case status == http.StatusConflict:
		return model.Overloaded
	case status >= 400 && status < 500:
		return model.Invalid
	case status == 0, status >= 500:
		return model.Overloaded
	}
	return model.BadAnswer // a redirect that leads nowhere, a success without content
}
