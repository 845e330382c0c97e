package openai

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/internal/redact"
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
	cfg     Config
	client  sdk.Client
	secrets *redact.Redactor // what no failure may contain
	own     bool             // it is OpenAI's own server
}

var _ model.Model = (*Model)(nil)

const ownURL = "https://api.openai.com/v1"

// New returns a model, or an [ErrConfig]. It sends no request.
func New(cfg Config) (*Model, error) {
	if cfg.BaseURL == "" {
		cfg.BaseURL = os.Getenv("OPENAI_BASE_URL")
		if cfg.Key == "" {
			cfg.Key = os.Getenv("OPENAI_API_KEY")
		}
	}
	if cfg.BaseURL == "" {
		cfg.BaseURL = ownURL
	}
	if err := cfg.check(); err != nil {
		return nil, err
	}
	if cfg.Idle == 0 {
		cfg.Idle = 2 * time.Minute
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = 10 * time.Minute
	}
	if cfg.Client == nil {
		cfg.Client = &http.Client{CheckRedirect: sameHost}
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	m := &Model{cfg: cfg, own: strings.HasPrefix(cfg.BaseURL, "https://api.openai.com/"), secrets: redactor(cfg.secrets())}
	m.client = sdk.Client{Options: m.options()}
	return m, nil
}

var errElsewhere = errors.New("the server redirects to another host")

// sameHost follows redirects within a host, and none from https to http.
func sameHost(req *http.Request, via []*http.Request) error {
	from := via[0].URL
	switch {
	case req.URL.Host != from.Host, from.Scheme == "https" && req.URL.Scheme != "https":
		return errElsewhere
	case len(via) >= 10:
		return errors.New("the server redirects without an end")
	}
	return nil
}

func (c Config) check() error {
	var errs []error
	u, err := url.Parse(c.BaseURL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		errs = append(errs, fmt.Errorf("%w: BaseURL must be an http or https address", ErrConfig)) // it may hold a password
	}
	if strings.ContainsAny(c.Key, "\r\n\x00") {
		errs = append(errs, fmt.Errorf("%w: Key must not contain a line break", ErrConfig))
	}
	if c.Idle < 0 || c.Timeout < 0 {
		errs = append(errs, fmt.Errorf("%w: Idle and Timeout must not be negative", ErrConfig))
	}
	if c.Form != FormSchema && c.Form != FormObject && c.Form != FormPrompt {
		errs = append(errs, fmt.Errorf("%w: Form must be empty, object or prompt (got %q)", ErrConfig, c.Form))
	}
	return errors.Join(errs...)
}

func redactor(secrets []string) *redact.Redactor {
	all := make([]redact.Secret, len(secrets))
	for i, s := range secrets {
		all[i] = redact.Secret{Value: s, Shown: "…"}
	}
	return redact.New(all...)
}

// secrets returns what no failure may contain.
func (c Config) secrets() (all []string) {
	add := func(s string) {
		if s = strings.TrimSpace(s); len(s) >= 4 {
			all = append(all, s)
			if slashed := strings.ReplaceAll(s, "/", `\/`); slashed != s { // as some servers write JSON
				all = append(all, slashed)
			}
		}
	}
	add(c.Key)
	for _, values := range c.Header {
		for _, v := range values {
			add(v)
			_, token, _ := strings.Cut(v, " ")
			add(token)
		}
	}
	if u, err := url.Parse(c.BaseURL); err == nil {
		if password, ok := u.User.Password(); ok {
			add(password)
			add(base64.StdEncoding.EncodeToString([]byte(u.User.Username() + ":" + password))) // as it is sent
		}
		for _, values := range u.Query() {
			for _, v := range values {
				add(v)
			}
		}
	}
	return all
}

func (m *Model) options() []option.RequestOption {
	opts := []option.RequestOption{
		option.WithBaseURL(strings.TrimSuffix(m.cfg.BaseURL, "/") + "/"),
		option.WithHTTPClient(m.cfg.Client),
		option.WithMaxRetries(0),
		option.WithHeader("Accept", "text/event-stream, application/json"),
		option.WithMiddleware(m.receive),
	}
	if m.cfg.Key != "" {
		opts = append(opts, option.WithAPIKey(m.cfg.Key))
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

var (
	errIdle  = errors.New("the server is silent")
	errLate  = errors.New("the answer takes too long")
	errEnded = errors.New("the answer has ended")
)

// stream sends the request and yields the answer. stopped is true if the caller stopped reading.
func (m *Model) stream(outer context.Context, r model.Request, yield func(model.Chunk) bool) (stopped bool, err error) {
	params, opts, err := m.request(r)
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithCancelCause(outer)
	defer cancel(errEnded)
	late := time.AfterFunc(m.cfg.Timeout, func() { cancel(errLate) })
	defer late.Stop()
	idle := time.AfterFunc(m.cfg.Idle, func() { cancel(errIdle) })
	defer idle.Stop()
	var res *http.Response
	if err := m.client.Post(ctx, "chat/completions", params, &res, opts...); err != nil {
		return false, m.failure(outer, ctx, r, err, false)
	}
	defer res.Body.Close()
	a := answer{m: m, name: r.Model, yield: func(c model.Chunk) bool {
		idle.Stop() // the time of the caller is not the server's
		defer idle.Reset(m.cfg.Idle)
		return yield(c)
	}}
	err = a.read(res)
	if err == nil || a.stopped {
		return a.stopped, nil
	}
	return false, m.failure(outer, ctx, r, err, a.begun)
}
