package gemini

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/weftrun/weft/capabilities/model"
)

// status is an error of the API.
type status struct {
	Code    int      `json:"code"`
	Message string   `json:"message"`
	Status  string   `json:"status"`
	Details []detail `json:"details"`
}

// detail is a detail of an error, of one of several types.
type detail struct {
	Reason     string `json:"reason"`
	RetryDelay string `json:"retryDelay"`
	Violations []struct {
		QuotaID string `json:"quotaId"`
	} `json:"violations"`
}

// errorResponse returns the failure that a server reports; code is 0 within a stream.
func errorResponse(code int, body []byte) *model.Error {
	type report struct {
		Error status `json:"error"`
	}
	var one report
	var several []report
	if json.Unmarshal(body, &several) == nil && len(several) > 0 {
		one = several[0]
	} else {
		_ = json.Unmarshal(body, &one) // a page or a text stays as it is
	}
	e := &model.Error{Status: code, Message: string(body)}
	if one.Error.Message != "" {
		e.Message = one.Error.Message
	}
	for _, d := range one.Error.Details {
		if wait, err := time.ParseDuration(d.RetryDelay); err == nil {
			e.Wait = min(max(wait, 0), 24*time.Hour)
		}
	}
	if code == 0 {
		code = one.Error.Code
	}
	e.Kind = kind(code, one.Error, strings.ToLower(e.Message))
	return e
}

// kind classifies a failure, by its details if they are more specific than its status.
func kind(code int, s status, text string) model.Kind {
	for _, d := range s.Details {
		if d.Reason == "API_KEY_INVALID" {
			return model.Auth
		}
		for _, v := range d.Violations {
			if strings.Contains(v.QuotaID, "PerDay") {
				return model.Quota
			}
		}
	}
	if strings.Contains(text, "exceeds the maximum number of tokens") {
		return model.ContextTooLong
	}
	switch s.Status {
	case "RESOURCE_EXHAUSTED":
		return model.RateLimited
	case "UNAUTHENTICATED", "PERMISSION_DENIED":
		return model.Auth
	case "INVALID_ARGUMENT", "FAILED_PRECONDITION", "NOT_FOUND", "OUT_OF_RANGE", "UNIMPLEMENTED":
		return model.Invalid
	case "DEADLINE_EXCEEDED":
		return model.Timeout
	case "INTERNAL", "UNAVAILABLE", "ABORTED", "CANCELLED", "UNKNOWN":
		return model.Overloaded
	}
	switch {
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		return model.Auth
	case code == http.StatusTooManyRequests:
		return model.RateLimited
	case code == http.StatusRequestTimeout, code == http.StatusGatewayTimeout:
		return model.Timeout
	case code == http.StatusRequestEntityTooLarge:
		return model.ContextTooLong
	case code >= 400 && code < 500:
		return model.Invalid
	case code == 0, code >= 500:
		return model.Overloaded
	}
	return model.BadAnswer // a redirect that leads nowhere, a success without content
}
