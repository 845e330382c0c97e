package wire

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// Command is a request of the protocol.
type Command struct {
	ID     int64           `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// CommandCode is the error of a command.
type CommandCode string

const (
	CommandInvalid          CommandCode = "invalid_argument"
	CommandUnknown          CommandCode = "unknown_command"
	CommandFailed           CommandCode = "unknown_error"
	CommandNoRun            CommandCode = "no_such_run"
	CommandNoSubscription   CommandCode = "no_such_subscription"
	CommandNoNamespace      CommandCode = "no_such_namespace"
	CommandNoInterrupt      CommandCode = "no_such_interrupt"
	CommandNoCheckpoint     CommandCode = "no_such_checkpoint"
	CommandPermissionDenied CommandCode = "permission_denied"
	CommandNotSupported     CommandCode = "not_supported"
)

// ReadCommand reads a command. The error is an *Error unless the command has an id that is an
// integer and a method.
func ReadCommand(data []byte) (Command, error) {
	m := members(data)
	id, err := strconv.ParseInt(string(bytes.TrimSpace(m["id"])), 10, 64)
	c := Command{ID: id, Method: text(m["method"]), Params: m["params"]}
	if err != nil || c.Method == "" {
		return Command{}, &Error{Code: CodeInvalidRequest, Detail: "A command must have an id that is an integer, and a method", Status: 400}
	}
	if isNull(c.Params) {
		c.Params = json.RawMessage("{}")
	}
	return c, nil
}

type commandSuccess struct {
	Type   string      `json:"type"`
	ID     int64       `json:"id"`
	Result any         `json:"result"`
	Meta   commandMeta `json:"meta"`
}

type commandMeta struct {
	Thread  string `json:"thread_id"`
	Applied uint64 `json:"applied_through_seq"`
}

type commandError struct {
	Type    string      `json:"type"`
	ID      *int64      `json:"id"`
	Error   CommandCode `json:"error"`
	Message string      `json:"message"`
}

// CommandResult returns the answer to a command that succeeded. applied is the number of the newest
// event, as [ProtocolSeq] returns it.
func CommandResult(c Command, result any, thread string, applied uint64) (json.RawMessage, error) {
	if result == nil {
		result = Object{}
	}
	return json.Marshal(commandSuccess{"success", c.ID, result, commandMeta{thread, applied}})
}

// CommandError returns the answer to a command that failed; c is nil if it could not be read.
func CommandError(c *Command, code CommandCode, message string) json.RawMessage {
	e := commandError{Type: "error", Error: code, Message: message}
	if c != nil {
		e.ID = &c.ID
	}
	data, _ := json.Marshal(e) // of strings
	return data
}

// ReadSubscription reads the body of a request for events. Unknown members are an *Error.
func ReadSubscription(data []byte) (s Subscription, err error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&s); err != nil {
		return s, &Error{Code: CodeInvalidRequest, Detail: "A subscription has channels, namespaces, depth and since, and nothing else", Status: 400}
	}
	if err := s.Check(); err != nil {
		return s, err
	}
	return s, nil
}
