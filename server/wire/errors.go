package wire

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// Code names the error that a request ended with. Details are for people, and codes for programs.
type Code string

const (
	CodeInvalidRequest     Code = "invalid_request"
	CodeInvalidJSON        Code = "invalid_json"
	CodeTooLarge           Code = "too_large"
	CodeUnsupportedMedia   Code = "unsupported_media_type"
	CodeMethodNotAllowed   Code = "method_not_allowed"
	CodeNotFound           Code = "not_found" // no such endpoint
	CodeUnauthorized       Code = "unauthorized"
	CodeForbidden          Code = "forbidden"
	CodeThreadNotFound     Code = "thread_not_found"
	CodeAssistantNotFound  Code = "assistant_not_found"
	CodeGraphNotFound      Code = "graph_not_found"
	CodeRunNotFound        Code = "run_not_found"
	CodeCheckpointNotFound Code = "checkpoint_not_found"
	CodeCronNotFound       Code = "cron_not_found"
	CodeVersionNotFound    Code = "version_not_found"
	CodeAlreadyExists      Code = "already_exists"
	CodeThreadBusy         Code = "thread_busy"
	CodeRunActive          Code = "run_active"
	CodeAmbiguousResume    Code = "ambiguous_resume"
	CodeNothingAsked       Code = "nothing_asked"
	CodeAnswerRefused      Code = "answer_refused"
	CodeUnknownNode        Code = "unknown_node"
	CodeUnknownField       Code = "unknown_field"
	CodeRateLimited        Code = "rate_limited"
	CodeDraining           Code = "draining"
	CodeStoreUnavailable   Code = "store_unavailable"
	CodeInternal           Code = "internal"
)

// statuses are the HTTP statuses of the codes.
var statuses = map[Code]int{
	CodeInvalidRequest:     http.StatusUnprocessableEntity,
	CodeInvalidJSON:        http.StatusUnprocessableEntity,
	CodeTooLarge:           http.StatusRequestEntityTooLarge,
	CodeUnsupportedMedia:   http.StatusUnsupportedMediaType,
	CodeMethodNotAllowed:   http.StatusMethodNotAllowed,
	CodeNotFound:           http.StatusNotFound,
	CodeUnauthorized:       http.StatusUnauthorized,
	CodeForbidden:          http.StatusForbidden,
	CodeThreadNotFound:     http.StatusNotFound,
	CodeAssistantNotFound:  http.StatusNotFound,
	CodeGraphNotFound:      http.StatusNotFound,
	CodeRunNotFound:        http.StatusNotFound,
	CodeCheckpointNotFound: http.StatusNotFound,
	CodeCronNotFound:       http.StatusNotFound,
	CodeVersionNotFound:    http.StatusNotFound,
	CodeAlreadyExists:      http.StatusConflict,
	CodeThreadBusy:         http.StatusConflict,
	CodeRunActive:          http.StatusConflict,
	CodeAmbiguousResume:    http.StatusUnprocessableEntity,
	CodeNothingAsked:       http.StatusConflict,
	CodeAnswerRefused:      http.StatusUnprocessableEntity,
	CodeUnknownNode:        http.StatusUnprocessableEntity,
	CodeUnknownField:       http.StatusUnprocessableEntity,
	CodeRateLimited:        http.StatusTooManyRequests,
	CodeDraining:           http.StatusServiceUnavailable,
	CodeStoreUnavailable:   http.StatusServiceUnavailable,
	CodeInternal:           http.StatusInternalServerError,
}

// Codes returns the status of each code, in a new map.
func Codes() map[Code]int {
	all := make(map[Code]int, len(statuses))
	for c, s := range statuses {
		all[c] = s
	}
	return all
}

// Error is the end of a request that failed. Its fields go to the client, so Detail must not hold
// internals such as paths or queries.
type Error struct {
	Code   Code
	Detail string
	// Status is the HTTP status; 0 means that of the code.
	Status int
}

// Errorf returns an Error with the status of its code.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Detail: fmt.Sprintf(format, args...)}
}

func (e *Error) Error() string { return fmt.Sprintf("%s (%s)", e.Detail, e.Code) }

// HTTPStatus returns the status of the answer in a dialect.
func (e *Error) HTTPStatus(d Dialect) int {
	switch {
	case e.Status != 0:
		return e.Status
	case d == JavaScript && e.Code == CodeInvalidJSON:
		return http.StatusBadRequest
	}
	if s, ok := statuses[e.Code]; ok {
		return s
	}
	return http.StatusInternalServerError
}

// Body returns the body of the answer in a dialect, and its media type: the detail as text in
// JavaScript, and an object with detail and code in Python.
func (e *Error) Body(d Dialect) (mediaType string, body []byte) {
	if d == JavaScript {
		return "text/plain; charset=utf-8", []byte(e.Detail)
	}
	body, _ = json.Marshal(struct { // of strings
		Detail string `json:"detail"`
		Code   Code   `json:"code"`
	}{e.Detail, e.Code})
	return "application/json", body
}
