package a2a

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Version is a form of the protocol.
type Version int

const (
	V03 Version = iota
	V10
)

// Op is what a client asks for.
type Op int

const (
	Send Op = iota + 1
	Stream
	Get
	Cancel
	Subscribe
)

type method struct {
	op      Op
	version Version
}

var methods = map[string]method{
	"message/send": {Send, V03}, "message/stream": {Stream, V03}, "tasks/get": {Get, V03}, "tasks/cancel": {Cancel, V03}, "tasks/resubscribe": {Subscribe, V03},
	"SendMessage": {Send, V10}, "SendStreamingMessage": {Stream, V10}, "GetTask": {Get, V10}, "CancelTask": {Cancel, V10}, "SubscribeToTask": {Subscribe, V10},
}

// Code is a code of JSON-RPC.
type Code int

const (
	CodeParse         Code = -32700
	CodeRequest       Code = -32600
	CodeMethod        Code = -32601
	CodeParams        Code = -32602
	CodeInternal      Code = -32603
	CodeNoTask        Code = -32001
	CodeNotCancelable Code = -32002
	CodeNoPush        Code = -32003
	CodeUnsupported   Code = -32004
	CodeContent       Code = -32005
)

// Error is the error of a request, as the client sees it.
type Error struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
}

func (e *Error) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

// Errorf returns an Error.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{code, fmt.Sprintf(format, args...)}
}

// Request is a request of a client.
type Request struct {
	ID      json.RawMessage // as it came; null if there is none
	Op      Op
	Version Version
	Message Message // of Send and Stream
	Task    string  // the id of the task; "" for a new one
	Return  bool    // Send does not wait for the end
	History int     // how many messages the task has at most
}

// Message is a message of a client.
type Message struct {
	ID, Context string
	Text        string
	Images      []string                     // URLs
	Data        []json.RawMessage            // values, as they came
	Metadata    map[string]json.RawMessage   // of the request
	fields      []map[string]json.RawMessage // those of Data that are objects
}

// Fields returns the members of the data that are objects, the last of a name, or an Error if there
// are other data.
func (m Message) Fields() (map[string]json.RawMessage, error) {
	all := map[string]json.RawMessage{}
	if len(m.fields) != len(m.Data) {
		return nil, Errorf(CodeParams, "the data of a message must be objects")
	}
	for _, o := range m.fields {
		for name, v := range o {
			all[name] = v
		}
	}
	return all, nil
}

// part is a part of a message in both forms.
type part struct {
	Text *string         `json:"text"`
	Data json.RawMessage `json:"data"`
	File *struct {
		URI   string `json:"uri"`
		Bytes string `json:"bytes"`
		Type  string `json:"mimeType"`
	} `json:"file"`
	URL  string `json:"url"`
	Raw  string `json:"raw"`
	Type string `json:"mediaType"`
}

type params struct {
	ID      string `json:"id"`
	History *int   `json:"historyLength"`
	Message struct {
		ID      string `json:"messageId"`
		Context string `json:"contextId"`
		Task    string `json:"taskId"`
		Parts   []part `json:"parts"`
	} `json:"message"`
	Configuration struct {
		Blocking *bool           `json:"blocking"`          // 0.3
		Return   bool            `json:"returnImmediately"` // 1.0
		History  *int            `json:"historyLength"`
		Push     json.RawMessage `json:"pushNotificationConfig"`
		TaskPush json.RawMessage `json:"taskPushNotificationConfig"`
	} `json:"configuration"`
	Metadata map[string]json.RawMessage `json:"metadata"`
}

// ReadRequest reads a request. The error is an *Error; the request then has the ID, if it is known.
func ReadRequest(data []byte) (r Request, err error) {
	r.ID = json.RawMessage("null")
	var head struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Method  string          `json:"method"`
		Params  json.RawMessage `json:"params"`
	}
	if json.Unmarshal(data, &head) != nil {
		return r, Errorf(CodeRequest, "the body must be one request of JSON-RPC")
	}
	if id := string(head.ID); id != "" {
		if id[0] != '"' && (id[0] < '0' || id[0] > '9') && id[0] != '-' && id != "null" {
			return r, Errorf(CodeRequest, "id must be a string or a number")
		}
		r.ID = head.ID
	}
	if head.Version != "2.0" {
		return r, Errorf(CodeRequest, "jsonrpc must be 2.0 (got %.20q)", head.Version)
	}
	m, ok := methods[head.Method]
	switch {
	case ok:
	case strings.Contains(strings.ToLower(head.Method), "pushnotification"):
		return r, Errorf(CodeNoPush, "push notifications are not supported")
	default:
		return r, Errorf(CodeMethod, "there is no method %.60q", head.Method)
	}
	r.Op, r.Version = m.op, m.version
	var p params
	if len(head.Params) == 0 || json.Unmarshal(head.Params, &p) != nil {
		return r, Errorf(CodeParams, "params must be those of %s", head.Method)
	}
	if m.op != Send && m.op != Stream {
		if r.Task = p.ID; r.Task == "" {
			return r, Errorf(CodeParams, "id must be set")
		}
		return r, r.setHistory(p.History)
	}
	r.Task = p.Message.Task
	r.Return = p.Configuration.Return || p.Configuration.Blocking != nil && !*p.Configuration.Blocking
	r.Message = Message{ID: p.Message.ID, Context: p.Message.Context, Metadata: p.Metadata}
	if given(p.Configuration.Push) || given(p.Configuration.TaskPush) {
		return r, Errorf(CodeNoPush, "push notifications are not supported")
	}
	if err := r.Message.read(p.Message.Parts); err != nil {
		return r, err
	}
	return r, r.setHistory(p.Configuration.History)
}

func given(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

func (r *Request) setHistory(n *int) error {
	if n == nil {
		return nil
	}
	if r.History = *n; r.History < 0 {
		return Errorf(CodeParams, "historyLength must not be negative (got %d)", r.History)
	}
	return nil
}

// read reads the parts of a message.
func (m *Message) read(parts []part) error {
	if len(parts) == 0 {
		return Errorf(CodeParams, "message.parts must not be empty")
	}
	var texts []string
	for _, p := range parts {
		if p.File != nil {
			p.URL, p.Raw, p.Type = p.File.URI, p.File.Bytes, p.File.Type
		}
		switch image := strings.HasPrefix(p.Type, "image/"); {
		case p.Text != nil:
			texts = append(texts, *p.Text)
		case len(p.Data) > 0:
			m.Data = append(m.Data, p.Data)
			var o map[string]json.RawMessage
			if json.Unmarshal(p.Data, &o) == nil && o != nil {
				m.fields = append(m.fields, o)
			}
		case image && p.URL != "":
			m.Images = append(m.Images, p.URL)
		case image && p.Raw != "":
			m.Images = append(m.Images, "data:"+p.Type+";base64,"+p.Raw)
		default:
			return Errorf(CodeContent, "a part must be a text, data or an image")
		}
	}
	m.Text = strings.Join(texts, "\n")
	return nil
}
