package modelhttp

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/internal/redact"
)

// Config configures a client.
type Config struct {
	// URL is the address of the server. "" is that in URLVariable, or else OwnURL. An empty Key is
	// then that in the first of KeyVariables that is set; the key of one server must not be sent to
	// another.
	URL, OwnURL, URLVariable string
	Key                      string
	KeyVariables             []string
	Header                   http.Header
	// Form must be one of Forms.
	Form  string
	Forms []string // the first one is ""
	// Idle limits the wait for the beginning of the answer and each pause in it; 0 is two minutes.
	Idle time.Duration
	// Timeout limits the whole answer; 0 is ten minutes.
	Timeout time.Duration
	// Client sends the requests. nil uses the default transport and follows redirects only within
	// one host, because other hosts must not get the key and the conversation.
	Client *http.Client
	// Now returns the time with which a date in Retry-After is compared; nil is time.Now.
	Now func() time.Time
	// Failed returns the failure that an error response reports. Its message may contain secrets.
	Failed func(status int, body []byte) *model.Error
	// Media are the media types of an answer.
	Media []string
}

// Client sends requests to a server. It is safe for concurrent use.
type Client struct {
	// URL and Key are those of the configuration, or else of the environment.
	URL, Key string

	cfg     Config
	secrets *redact.Redactor
}

// New returns a client, or every mistake of the configuration, each wrapped in invalid.
func New(cfg Config, invalid error) (*Client, error) {
	var errs []error
	refuse := func(text string) { errs = append(errs, fmt.Errorf("%w: %s", invalid, text)) }
	cfg.fill()
	u, err := url.Parse(cfg.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		refuse("BaseURL must be an http or https address") // it may hold a password
	}
	if strings.ContainsAny(cfg.Key, "\r\n\x00") {
		refuse("Key must not contain a line break")
	}
	if cfg.Idle < 0 || cfg.Timeout < 0 {
		refuse("Idle and Timeout must not be negative")
	}
	if !slices.Contains(cfg.Forms, cfg.Form) {
		refuse(fmt.Sprintf("Form must be empty or one of %q (got %q)", cfg.Forms[1:], cfg.Form))
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
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
	return &Client{URL: cfg.URL, Key: cfg.Key, cfg: cfg, secrets: redactor(cfg)}, nil
}

// fill takes the address and the key from the environment.
func (c *Config) fill() {
	if c.URL == "" {
		c.URL = os.Getenv(c.URLVariable)
		for _, name := range c.KeyVariables {
			c.Key = cmp.Or(c.Key, os.Getenv(name))
		}
	}
	c.URL = cmp.Or(c.URL, c.OwnURL)
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

// redactor replaces what no failure may contain.
func redactor(c Config) *redact.Redactor {
	var all []redact.Secret
	add := func(s string) {
		if s = strings.TrimSpace(s); len(s) >= 4 {
			all = append(all, redact.Secret{Value: s, Shown: "…"})
			if slashed := strings.ReplaceAll(s, "/", `\/`); slashed != s { // as some servers write JSON
				all = append(all, redact.Secret{Value: slashed, Shown: "…"})
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
	if u, err := url.Parse(c.URL); err == nil {
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
	return redact.New(all...)
}

// maxText limits the text of a failure, in bytes.
const maxText = 400

// Clean returns a text without secrets, shortened, on one line.
func (c *Client) Clean(s string) string {
	s = c.secrets.Replace(s)
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "�")), " ")
	if len(s) <= maxText {
		return s
	}
	cut := maxText
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}

// Bad returns a failure of an answer that cannot be understood.
func (c *Client) Bad(format string, args ...any) *model.Error {
	return &model.Error{Kind: model.BadAnswer, Message: c.Clean(fmt.Sprintf(format, args...))}
}

// SchemaPrompt returns the words that ask for an answer that matches a schema.
func SchemaPrompt(schema []byte) string {
	return "Answer with one JSON value that fits this JSON Schema, and nothing else:\n" + string(schema)
}
