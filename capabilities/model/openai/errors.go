package openai

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/openai/openai-go/v3/option"

	"github.com/weftrun/weft/capabilities/model"
)

// maxError limits how much of an error response is read, and maxText how much of it is reported, in
// bytes.
const (
	maxError = 1 << 20
	maxText  = 400
)

// receive returns an error for an error response, while status and headers are available.
func (m *Model) receive(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
	res, err := next(req)
	if err != nil || res.StatusCode == http.StatusOK {
		return res, err
	}
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxError))
	_ = res.Body.Close()
	var reported struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(body, &reported) != nil || len(reported.Error) == 0 {
		reported.Error = body
	}
	failed := m.serverError("", res.StatusCode, reported.Error)
	failed.Wait = retryAfter(res.Header, m.cfg.Now())
	return nil, failed
}

// serverError returns the failure that a server reports; status is 0 within a stream. Most servers
// send an object, some a text.
func (m *Model) serverError(name string, status int, data json.RawMessage) *model.Error {
	var d struct {
		Message string `json:"message"`
		Type    string `json:"type"`
		Code    any    `json:"code"`
		Detail  any    `json:"detail"`
	}
	if json.Unmarshal(data, &d) != nil || d.Message == "" {
		if json.Unmarshal(data, &d.Message) != nil {
			d.Message = string(data)
		}
	}
	code, _ := d.Code.(string)
	if n, ok := d.Code.(float64); ok && status == 0 && n >= 400 && n < 600 {
		status = int(n)
	}
	return &model.Error{Kind: kind(status, code, d.Type, strings.ToLower(d.Message)), Model: name, Status: status, Message: m.clean(d.Message)}
}

// kind classifies a failure, by its code if that is more specific than the status.
func kind(status int, code, typ, text string) model.Kind {
	either := func(names ...string) bool {
		for _, n := range names {
			if code == n || typ == n {
				return true
			}
		}
		return false
	}
	switch {
	case either("insufficient_quota", "billing_hard_limit_reached", "billing_not_active") || status == http.StatusPaymentRequired:
		return model.Quota
	case either("context_length_exceeded", "exceed_context_size_error", "string_above_max_length") || tooLong(status, text):
		return model.ContextTooLong
	case either("content_filter", "content_policy_violation", "moderation_blocked"):
		return model.Refused
	case either("rate_limit_exceeded", "rate_limit_error", "tokens", "requests"):
		return model.RateLimited
	case either("invalid_api_key", "authentication_error", "permission_error"):
		return model.Auth
	}
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return model.Auth
	case http.StatusTooManyRequests:
		return model.RateLimited
	case http.StatusRequestTimeout, http.StatusGatewayTimeout:
		return model.Timeout
	case http.StatusRequestEntityTooLarge:
		return model.ContextTooLong
	case http.StatusConflict, http.StatusTooEarly:
		return model.Overloaded
	}
	switch {
	case status == 0 && either("invalid_request_error"), status >= 400 && status < 500:
		return model.Invalid
	case status == 0, status >= 500:
		return model.Overloaded
	}
	return model.BadAnswer // a redirect that leads nowhere, a success without content
}

// tooLong reports whether the text of a bad request states that the conversation is too long. Most
// servers have no code for it.
func tooLong(status int, text string) bool {
	if status != 0 && status != http.StatusBadRequest && status != http.StatusUnprocessableEntity {
		return false
	}
	for _, words := range []string{"context length", "context window", "context size", "prompt is too long", "too many input tokens"} {
		if strings.Contains(text, words) {
			return true
		}
	}
	return false
}

// retryAfter returns how long a server asks to wait, up to a day, or 0.
func retryAfter(h http.Header, now time.Time) time.Duration {
	var d time.Duration
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil {
		d = scale(ms, time.Millisecond)
	} else if s, err := strconv.ParseFloat(h.Get("Retry-After"), 64); err == nil {
		d = scale(s, time.Second)
	} else if at, err := http.ParseTime(h.Get("Retry-After")); err == nil {
		d = at.Sub(now)
	}
	return min(max(d, 0), 24*time.Hour)
}

// scale returns n units, at most a little more than a day; 0 for a value that is no number.
func scale(n float64, unit time.Duration) time.Duration {
	if !(n > 0) {
		return 0
	}
	return time.Duration(min(n, float64(25*time.Hour/unit)) * float64(unit))
}

var errCut = errors.New("the connection ended before the answer did")

// failure returns why a request failed, or an answer broke off after it had begun.
func (m *Model) failure(outer, ctx context.Context, r model.Request, err error, begun bool) error {
	var own *model.Error
	var timeout net.Error
	e := &model.Error{Kind: model.Unreachable, Model: r.Model}
	if begun {
		e.Kind = model.CutOff
	}
	switch cause := context.Cause(ctx); {
	case outer.Err() != nil:
		return context.Cause(outer)
	case errors.As(err, &own):
		own.Model = cmp.Or(own.Model, r.Model)
		return own
	case errors.Is(cause, errIdle), errors.Is(cause, errLate):
		e.Kind, err = model.Timeout, cause
	case errors.Is(err, errLarge):
		e.Kind = model.BadAnswer
	case errors.As(err, &timeout) && timeout.Timeout():
		e.Kind = model.Timeout
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		e.Kind, err = model.CutOff, errCut
	}
	var at *url.Error
	if errors.As(err, &at) {
		err = at.Err // the address may hold a key
	}
	e.Message = m.clean(err.Error())
	return e
}

// clean returns a text without secrets, shortened, on one line.
func (m *Model) clean(s string) string {
	s = m.secrets.Replace(s)
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
