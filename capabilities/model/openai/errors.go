package openai

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/weftrun/weft/capabilities/model"
)

// errorResponse returns the failure of an error response.
func errorResponse(status int, body []byte) *model.Error {
	var reported struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(body, &reported) != nil || len(reported.Error) == 0 {
		reported.Error = body
	}
	return reportedError(status, reported.Error)
}

// serverError returns the failure that a server reports within an answer.
func (m *Model) serverError(name string, data json.RawMessage) *model.Error {
	e := reportedError(0, data)
	e.Model, e.Message = name, m.http.Clean(e.Message)
	return e
}

// reportedError reads a failure; status is 0 within a stream. Most servers send an object, some a
// text.
func reportedError(status int, data json.RawMessage) *model.Error {
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
	return &model.Error{Kind: kind(status, code, d.Type, strings.ToLower(d.Message)), Status: status, Message: d.Message}
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
