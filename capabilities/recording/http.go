package recording

import (
	"cmp"
	"context"
	"net/url"
	"strings"
)

// HTTPRequest is a request to a server, as far as it is recorded. The user and the password of the
// URL are not recorded. Secrets must be replaced by their names.
type HTTPRequest struct {
	Method  string              `json:"-"` // "" is GET
	URL     string              `json:"-"`
	Query   map[string][]string `json:"query,omitempty"` // is added to that of the URL
	Headers map[string]string   `json:"headers,omitempty"`
	User    string              `json:"user,omitempty"`
	Body    string              `json:"body,omitempty"`
	JSON    any                 `json:"json,omitempty"`
	Blob    string              `json:"blob,omitempty"` // the hash of a body that is a blob
}

// HTTPResponse is the response of a server.
type HTTPResponse struct {
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers,omitempty"` // by name in lower case
	Text    string            `json:"text,omitempty"`    // the body, as UTF-8
}

// HTTP makes a request by do, or returns the response that a [Recorder] of the context has. Without
// a Recorder it is do. Redirects are part of the request.
func HTTP(ctx context.Context, r HTTPRequest, do func(context.Context) (HTTPResponse, error)) (HTTPResponse, error) {
	if of(ctx) == nil {
		return outside(ctx, kindHTTP, "", r, do)
	}
	name, err := r.split()
	if err != nil {
		return HTTPResponse{}, err
	}
	return outside(ctx, kindHTTP, name, r, do)
}

// split returns the method and the URL without its query, which it adds to r.Query.
func (r *HTTPRequest) split() (name string, err error) {
	u, err := url.Parse(r.URL)
	if err != nil {
		return "", err
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil { // it is sent as it is
		query = url.Values{u.RawQuery: {""}}
	}
	for name, values := range r.Query {
		query[name] = append(query[name], values...)
	}
	r.Query = query
	headers := make(map[string]string, len(r.Headers))
	for name, v := range r.Headers {
		headers[strings.ToLower(name)] = v
	}
	r.Headers = headers
	return strings.ToUpper(cmp.Or(r.Method, "GET")) + " " + u.Scheme + "://" + u.Host + u.EscapedPath(), nil
}
