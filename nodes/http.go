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

	"github.com/weftrun/weft/capabilities/recording"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/internal/sniff"
	"github.com/weftrun/weft/state"
)

// maxBlobBody is the default of MaxBody for a response that is stored as a blob.
const maxBlobBody = 1 << 30

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
	// Body is text to send, JSON a value to send as JSON, and Blob a content of any size. Only one
	// may be set.
	Body string `json:"body,omitempty"`
	JSON any    `json:"json,omitempty"`
	Blob Blob   `json:"blob,omitzero"`
	// Expect is the expected response; any other is a failure.
	Expect Expect `json:"expect,omitzero"`
	// MaxBody limits the body of the response, such as 512KiB; 0 is 2 MiB, and 1 GiB for a blob.
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
	// Blob stores the body as a blob, which result.blob names. A test cannot record it.
	Blob bool `json:"blob,omitempty"`
}

// HTTPResult is the result of an HTTP.
type HTTPResult struct {
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"` // by name in lower case, several joined by ", "
	Text    string            `json:"text"`
	JSON    any               `json:"json"`
	Blob    *state.BlobRef    `json:"blob,omitempty"` // with Expect.Blob, in place of Text and JSON
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
	switch {
	case given("body") && given("json"):
		return errors.New("give body or json, and not both")
	case given("blob") && (given("body") || given("json")):
		return errors.New("give blob, body or json, and not two of them")
	case h.Expect.Blob && h.Expect.JSON:
		return errors.New("expect json or blob, and not both")
	case h.MaxBody > maxFile && !h.Expect.Blob:
		return fmt.Errorf("max_body is at most %d MiB", maxFile>>20)
	}
	if h.URL == "" {
		return nil // it is not constant
	}
	_, err := h.target()
	return err
}

// Recordable reports whether the request and its response are recorded. Contents of blobs are not.
func (h *HTTP) Recordable() bool { return !h.Expect.Blob }

// Run makes the request.
func (h *HTTP) Run(ctx context.Context, env workflow.Env) (any, error) {
	u, err := h.target()
	if err != nil {
		return nil, err
	}
	var blob *state.BlobRef
	resp, err := recording.HTTP(ctx, h.recorded(), func(ctx context.Context) (got recording.HTTPResponse, err error) {
		got, blob, err = h.exchange(ctx, env)
		return got, err
	})
	if err != nil {
		return nil, err
	}
	return h.result(publicURL(u), resp, blob, env)
}

// recorded returns the request with the names of its secrets.
func (h *HTTP) recorded() recording.HTTPRequest {
	r := recording.HTTPRequest{
		Method: h.method(), URL: h.URL, Query: map[string][]string{}, Headers: map[string]string{}, User: h.User, Body: h.Body, JSON: h.JSON, Blob: h.Blob.Hash,
	}
	for name, values := range h.Query {
		for _, v := range values {
			r.Query[name] = append(r.Query[name], v.String())
		}
	}
	for name, v := range h.Headers {
		r.Headers[name] = v.String()
	}
	return r
}

// exchange makes the request and reads the response.
func (h *HTTP) exchange(ctx context.Context, env workflow.Env) (got recording.HTTPResponse, blob *state.BlobRef, err error) {
	req, err := h.request(ctx, env)
	if err != nil {
		return got, nil, recording.Unrecordable(err)
	}
	resp, err := clients.of(h.AllowPrivate).Do(req)
	if err != nil {
		return got, nil, plainURLError(err)
	}
	defer resp.Body.Close()
	got = recording.HTTPResponse{Status: resp.StatusCode, Headers: map[string]string{}}
	for name, values := range resp.Header {
		got.Headers[strings.ToLower(name)] = strings.Join(values, ", ")
	}
	stores := h.Expect.Blob && h.isExpected(got.Status)
	limit := int64(h.MaxBody)
	switch {
	case limit == 0 && stores:
		limit = maxBlobBody
	case limit == 0:
		limit = 2 << 20
	case !stores:
		limit = min(limit, maxFile)
	}
	body := http.MaxBytesReader(nil, resp.Body, limit)
	if stores {
		var ref state.BlobRef
		ref, err = sniff.Put(ctx, state.PutBlob, body, resp.Header.Get("Content-Type"))
		blob = &ref
	} else {
		var data []byte
		data, err = io.ReadAll(body)
		got.Text = strings.ToValidUTF8(string(data), "�")
	}
	var most *http.MaxBytesError
	switch {
	case errors.As(err, &most):
		return got, nil, &refusal{fmt.Sprintf("%s: the body is larger than %d bytes", publicURL(req.URL), limit)}
	case errors.Is(err, state.ErrNoBlobs):
		return got, nil, err
	case err != nil:
		return got, nil, fmt.Errorf("%s: reading the body: %w", publicURL(req.URL), err)
	}
	return got, blob, nil
}

func (h *HTTP) isExpected(status int) bool {
	if len(h.Expect.Status) > 0 {
		return slices.Contains(h.Expect.Status, status)
	}
	return status >= 200 && status < 300
}

// result returns the result of an expected response.
func (h *HTTP) result(url string, resp recording.HTTPResponse, blob *state.BlobRef, env workflow.Env) (any, error) {
	if !h.isExpected(resp.Status) {
		text := env.Redact(resp.Text) // before it is cut
		return nil, &HTTPError{resp.Status, h.method(), url, strings.ToValidUTF8(text[:min(len(text), 200)], "�")}
	}
	res := HTTPResult{Status: resp.Status, Headers: resp.Headers, Text: resp.Text, Blob: blob}
	if h.Expect.Blob {
		if blob == nil {
			return nil, &refusal{fmt.Sprintf("%s: a recording has no blobs; give the node a mock", url)}
		}
		return res, nil
	}
	if err := unmarshal([]byte(resp.Text), &res.JSON); err != nil && h.Expect.JSON {
		return nil, fmt.Errorf("%s: the body is not JSON: %w", url, err)
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

func (h *HTTP) method() string {
	switch {
	case h.Method != "":
		return strings.ToUpper(h.Method)
	case h.Body != "" || h.JSON != nil || h.Blob.Hash != "":
		return http.MethodPost
	}
	return http.MethodGet
}

func (h *HTTP) request(ctx context.Context, env workflow.Env) (*http.Request, error) {
	u, err := h.target()
	if err != nil {
		return nil, err
	}
	if err := h.addQuery(u, env); err != nil {
		return nil, err
	}
	body, kind, err := h.body(ctx)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, h.method(), u.String(), body)
	if err != nil {
		return nil, &refusal{err.Error()}
	}
	if h.Blob.Size > 0 {
		req.ContentLength = h.Blob.Size
		req.GetBody = func() (io.ReadCloser, error) { return h.Blob.open(ctx) } // for a redirect
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

func (h *HTTP) body(ctx context.Context) (body io.Reader, kind string, err error) {
	switch {
	case h.Blob.Hash != "":
		kind = cmp.Or(h.Blob.Type, "application/octet-stream")
		if h.Blob.Size == 0 {
			return http.NoBody, kind, nil
		}
		body, err = h.Blob.open(ctx)
		return body, kind, err
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
