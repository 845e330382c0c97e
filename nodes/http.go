package nodes

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
)

// HTTP makes one request.
//
//	search:
//	  http:
//	    url: https://api.example.org/search
//	    query: {q: "${{ state.topic }}"}
//	    expect: {status: [200], json: true}
//	  output: {items: "${{ result.json.items }}"}
//	  retry: {max: 5}
//	  next: write
//
// The protocol is http or https, and the address must be public. Private, loopback, link-local and
// other special addresses are refused when the connection is made, whatever a name resolves to,
// unless allow_private is set. Up to 5 redirects are followed under the same rules. Another server
// does not get the headers or the query. No proxy of the environment is used. A request takes at
// most 5 minutes, with redirects and body; the node's timeout may be shorter. A status of 429 or
// 5xx and a failed connection may be retried; any other status is final.
//
// Every request but GET and HEAD has an Idempotency-Key, unless headers has one. It is the node's
// idempotency_key or the ID of its task, the same in each attempt and after a crash.
type HTTP struct {
	// Method is GET, the default without a body, or POST, the default with one, or
	// another.
	Method string `json:"method,omitempty"`
	URL    string `json:"url"`
	// Query is added to the URL. A list repeats a name; null leaves it out.
	Query map[string]Query `json:"query,omitempty"`
	// Headers and Query may contain secrets: Bearer ${secret:NAME}.
	Headers map[string]workflow.Secret `json:"headers,omitempty"`
	// User and Password are those of basic authentication.
	User     string          `json:"user,omitempty"`
	Password workflow.Secret `json:"password,omitzero"`
	// Body is text to send, JSON a value to send as JSON. Only one may be set.
	Body string `json:"body,omitempty"`
	JSON any    `json:"json,omitempty"`
	// Expect is the expected response; any other is a failure.
	Expect Expect `json:"expect,omitzero"`
	// MaxBody limits the body of the response, such as 512KiB; 0 is 2 MiB.
	MaxBody Size `json:"max_body,omitempty"`
	// AllowPrivate allows addresses of this machine and of private networks.
	AllowPrivate bool `json:"allow_private,omitempty"`

	id string // the idempotency key; "" is that of the node
}

// Query is the value of a name in the query: none, one or many texts.
type Query []workflow.Secret

// UnmarshalJSON reads a text, a number, a bool, null or a list of them.
func (q *Query) UnmarshalJSON(data []byte) error {
	var v any
	if err := unmarshal(data, &v); err != nil {
		return err
	}
	for _, v := range values(v) {
		switch v := v.(type) {
		case nil:
		case string:
			*q = append(*q, workflow.SecretText(v))
		case []any, map[string]any:
			return errors.New("the value must be a text, a number, a bool or a list of them")
		default:
			*q = append(*q, workflow.SecretText(fmt.Sprint(v)))
		}
	}
	return nil
}

// Expect is the expected response; any other is a failure.
type Expect struct {
	// Status lists the statuses; without it they are 200 to 299.
	Status []int `json:"status,omitempty"`
	// JSON requires a body that is JSON. Without it result.json is null for any other body.
	JSON bool `json:"json,omitempty"`
}

// HTTPResult is the result of an HTTP.
type HTTPResult struct {
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"` // by name in lower case, several joined by ", "
	Text    string            `json:"text"`
	JSON    any               `json:"json"`
}

// HTTPError is returned for an unexpected response.
type HTTPError struct {
	Status int
	Method string
	URL    string // without user and query
	Body   string // its beginning
}

func (e *HTTPError) Error() string {
	return fmt.Sprintf("%s %s: status %d %s: %q", e.Method, e.URL, e.Status, http.StatusText(e.Status), e.Body)
}

// Code returns the status as a code, such as http:503.
func (e *HTTPError) Code() string { return fmt.Sprintf("http:%d", e.Status) }

// Retryable reports whether the server may respond differently later.
func (e *HTTPError) Retryable() bool {
	return e.Status == http.StatusTooManyRequests || e.Status >= 500
}

// Check refuses invalid requests.
func (h *HTTP) Check(given func(string) bool) error {
	if given("body") && given("json") {
		return errors.New("give body or json, and not both")
	}
	if h.MaxBody > maxFile {
		return fmt.Errorf("max_body is at most %d MiB", maxFile>>20)
	}
	if h.URL == "" {
		return nil // it is not constant
	}
	_, err := h.target()
	return err
}

// Run makes the request.
func (h *HTTP) Run(ctx context.Context, env workflow.Env) (any, error) {
	req, err := h.request(ctx, env)
	if err != nil {
		return nil, err
	}
	client := clients.of(h.AllowPrivate)
	resp, err := client.Do(req)
	if err != nil {
		return nil, plainURLError(err)
	}
	defer resp.Body.Close()
	limit := int64(h.MaxBody)
	if limit == 0 {
		limit = 2 << 20
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if err != nil {
		return nil, fmt.Errorf("%s: reading the body: %w", publicURL(req.URL), err)
	}
	if int64(len(body)) > limit {
		return nil, &refusal{fmt.Sprintf("%s: the body is larger than %d bytes", publicURL(req.URL), limit)}
	}
	return h.result(req, resp, body, env)
}

func (h *HTTP) result(req *http.Request, resp *http.Response, body []byte, env workflow.Env) (any, error) {
	ok := resp.StatusCode >= 200 && resp.StatusCode < 300
	if len(h.Expect.Status) > 0 {
		ok = slices.Contains(h.Expect.Status, resp.StatusCode)
	}
	if !ok {
		text := env.Redact(string(body)) // before it is cut
		return nil, &HTTPError{resp.StatusCode, req.Method, publicURL(req.URL), strings.ToValidUTF8(text[:min(len(text), 200)], "�")}
	}
	res := HTTPResult{Status: resp.StatusCode, Headers: map[string]string{}, Text: strings.ToValidUTF8(string(body), "�")}
	for name, values := range resp.Header {
		res.Headers[strings.ToLower(name)] = strings.Join(values, ", ")
	}
	if err := unmarshal(body, &res.JSON); err != nil && h.Expect.JSON {
		return nil, fmt.Errorf("%s: the body is not JSON: %w", publicURL(req.URL), err)
	}
	return res, nil
}

func (h *HTTP) target() (*url.URL, error) {
	u, err := url.Parse(h.URL)
	switch {
	case err != nil:
		return nil, &refusal{"the url cannot be read: " + errors.Unwrap(err).Error()}
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, &refusal{fmt.Sprintf("the url must begin with http:// or https://, not %q", h.URL)}
	}
	return u, nil
}

func (h *HTTP) request(ctx context.Context, env workflow.Env) (*http.Request, error) {
	u, err := h.target()
	if err != nil {
		return nil, err
	}
	if err := h.addQuery(u, env); err != nil {
		return nil, err
	}
	body, kind, err := h.body()
	if err != nil {
		return nil, err
	}
	method := strings.ToUpper(h.Method)
	if method == "" && (h.Body != "" || h.JSON != nil) {
		method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), body)
	if err != nil {
		return nil, &refusal{err.Error()}
	}
	return req, h.setHeaders(ctx, req, kind, env)
}

// addQuery adds Query to the query of the URL.
func (h *HTTP) addQuery(u *url.URL, env workflow.Env) error {
	if len(h.Query) == 0 {
		return nil
	}
	q, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return &refusal{"the query of the url cannot be read: " + err.Error()}
	}
	for _, name := range slices.Sorted(maps.Keys(h.Query)) {
		for _, v := range h.Query[name] {
			text, err := env.Reveal(v)
			if err != nil {
				return err
			}
			q.Add(name, text)
		}
	}
	u.RawQuery = q.Encode()
	return nil
}

func (h *HTTP) body() (body io.Reader, kind string, err error) {
	switch {
	case h.JSON != nil:
		data, err := json.Marshal(h.JSON)
		return bytes.NewReader(data), "application/json", err
	case h.Body != "":
		return strings.NewReader(h.Body), "text/plain; charset=utf-8", nil
	}
	return nil, "", nil
}

func (h *HTTP) setHeaders(ctx context.Context, req *http.Request, kind string, env workflow.Env) error {
	req.Header.Set("User-Agent", "weft")
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	if h.User != "" || h.Password.String() != "" {
		password, err := env.Reveal(h.Password)
		if err != nil {
			return err
		}
		req.SetBasicAuth(h.User, password)
		env.Hide(h.User + ":" + password)
		env.Hide(req.Header.Get("Authorization"))
	}
	if id := cmp.Or(h.id, workflow.IdempotencyKey(ctx), graph.TaskID(ctx)); id != "" && req.Method != http.MethodGet && req.Method != http.MethodHead {
		req.Header.Set("Idempotency-Key", id)
	}
	for _, name := range slices.Sorted(maps.Keys(h.Headers)) {
		value, err := env.Reveal(h.Headers[name])
		if err != nil {
			return err
		}
		switch http.CanonicalHeaderKey(name) {
		case "Host":
			req.Host = value
		case "Content-Length", "Transfer-Encoding", "Trailer":
			return &refusal{fmt.Sprintf("the header %s is set from the body and must not be given", name)}
		default:
			req.Header.Set(name, value)
		}
	}
	return nil
}

func values(v any) []any {
	if list, ok := v.([]any); ok {
		return list
	}
	return []any{v}
}

// publicURL returns a URL without its secret parts.
func publicURL(u *url.URL) string { return u.Scheme + "://" + u.Host + u.Path }

// plainURLError drops the query from an error of package http.
func plainURLError(err error) error {
	var ue *url.Error
	if !errors.As(err, &ue) {
		return err
	}
	if u, perr := url.Parse(ue.URL); perr == nil {
		return fmt.Errorf("%s %s: %w", strings.ToUpper(ue.Op), publicURL(u), ue.Err)
	}
	return ue.Err
}
