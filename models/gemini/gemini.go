package gemini

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"time"

	"google.golang.org/genai"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/internal/modelhttp"
)

// Config configures a model.
type Config struct {
	// Model is the model of requests that name none.
	Model string
	// BaseURL is the address up to the version of the API; "" is that in GOOGLE_GEMINI_BASE_URL, or
	// else Google's.
	BaseURL string
	// Key is the key of the API. "" is that in GEMINI_API_KEY or GOOGLE_API_KEY, unless BaseURL is
	// set here, because the key of one server must not be sent to another.
	Key string
	// Header is sent with each request.
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

// The forms.
const (
	FormSchema Form = ""       // responseJsonSchema
	FormObject Form = "object" // the media type of JSON, and the schema in the system instruction
	FormPrompt Form = "prompt" // the schema in the system instruction alone
)

// ErrConfig is returned for an invalid configuration.
var ErrConfig = errors.New("gemini: invalid configuration")

// Model is a model of Google. It is safe for concurrent use.
type Model struct {
	cfg  Config
	http *modelhttp.Client
	api  *genai.Client
}

var _ model.Model = (*Model)(nil)

const ownURL = "https://generativelanguage.googleapis.com/"

// New returns a model, or an [ErrConfig]. It sends no request.
func New(cfg Config) (*Model, error) {
	client, err := modelhttp.New(modelhttp.Config{
		URL: cfg.BaseURL, OwnURL: ownURL, URLVariable: "GOOGLE_GEMINI_BASE_URL", Key: cfg.Key, KeyVariables: []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"},
		Header: cfg.Header, Idle: cfg.Idle, Timeout: cfg.Timeout, Client: cfg.Client, Now: cfg.Now,
		Form: string(cfg.Form), Forms: []string{"", string(FormObject), string(FormPrompt)},
		Failed: errorResponse, Media: []string{"text/event-stream"},
	}, ErrConfig)
	if err == nil && client.Key == "" && strings.HasPrefix(client.URL, ownURL) {
		err = fmt.Errorf("%w: Key must be set, or the variable GEMINI_API_KEY", ErrConfig)
	}
	if err != nil {
		return nil, err
	}
	api, err := genai.NewClient(context.Background(), &genai.ClientConfig{
		Backend: genai.BackendGeminiAPI, HTTPClient: client.HTTP(),
		APIKey: cmp.Or(client.Key, "none"), // the library needs one, although another server may not
		HTTPOptions: genai.HTTPOptions{
			BaseURL: strings.TrimSuffix(client.URL, "/") + "/", Headers: cfg.Header,
			RetryOptions: &genai.HTTPRetryOptions{Attempts: genai.Ptr[int32](1)},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %s", ErrConfig, client.Clean(err.Error()))
	}
	return &Model{cfg: cfg, http: client, api: api}, nil
}

// Stream implements model.Model.
func (m *Model) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Chunk, error] {
	if r.Model == "" {
		r.Model = m.cfg.Model
	}
	return func(yield func(model.Chunk, error) bool) {
		contents, config, err := m.request(r)
		if err != nil {
			yield(model.Chunk{}, err)
			return
		}
		a := answer{m: m, yield: func(c model.Chunk) bool { return yield(c, nil) }}
		err = m.http.Do(ctx, r.Model, func(ctx context.Context) error {
			return a.read(ctx, m.api.Models.GenerateContentStream(ctx, r.Model, contents, config))
		})
		if err != nil && !a.stopped {
			yield(model.Chunk{}, err)
		}
	}
}

// Provider opens models of Google.
func Provider() model.Provider {
	return model.Provider{
		URL: ownURL, URLVariable: "GOOGLE_GEMINI_BASE_URL", KeyVariable: "GEMINI_API_KEY",
		Open:         func(c model.Config) (model.Model, error) { return open(c) },
		OpenEmbedder: func(c model.Config) (model.Embedder, error) { return open(c) },
	}
}

func open(c model.Config) (*Model, error) {
	form := Form(c.Answers)
	if form == "schema" {
		form = FormSchema
	}
	return New(Config{Model: c.Model, BaseURL: c.URL, Key: c.Key, Timeout: c.Timeout, Form: form})
}
