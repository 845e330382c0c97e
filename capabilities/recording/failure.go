package recording

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/state/agent"
)

// errorValue returns an error as it is recorded.
func errorValue(ctx context.Context, err error) *value {
	v := &value{kind: object}
	v.set("text", textOf(err.Error()))
	if ctx.Err() != nil {
		v.set("cancelled", &value{text: "true"})
		return v
	}
	var of *model.Error
	if errors.As(err, &of) {
		v.setText("kind", string(of.Kind))
		v.setText("model", of.Model)
		v.setText("message", of.Message)
		if of.Status != 0 {
			v.set("status", &value{text: strconv.Itoa(of.Status)})
		}
	}
	var coded interface{ Code() string }
	if errors.As(err, &coded) && of == nil {
		v.setText("code", coded.Code())
	}
	var again interface{ Retryable() bool }
	if errors.As(err, &again) && !again.Retryable() {
		v.set("final", &value{text: "true"})
	}
	return v
}

// classify adds the severity of an error for the turns of an agent, and the message for the user.
func classify(v *value, err error) {
	if v.get("cancelled") != nil {
		return
	}
	severity := agent.SeverityOf(err)
	var own *classified
	if errors.As(err, &own) {
		severity = own.severity
		v.setText("user", own.user)
	}
	if severity != agent.Critical {
		v.setText("severity", string(severity))
	}
}

// cancelled reports whether the call ended with its context.
func (c *call) cancelled() bool { return c.err.get("cancelled") != nil }

// failure returns the recorded error.
func (c *call) failure() (*Failure, error) {
	var e struct {
		Text      string
		Kind      model.Kind
		Model     string
		Message   string
		Status    int
		Code      string
		Final     bool
		Cancelled bool
		Severity  agent.Severity
		User      string
	}
	if c.err.kind != object || c.err.get("text") == nil {
		return nil, &FileError{Line: c.err.line, Reason: "error must be a mapping with a text"}
	}
	if err := into(c.err, &e); err != nil {
		return nil, err
	}
	if e.Severity != "" && !slices.Contains(agent.Severities(), e.Severity) {
		return nil, &FileError{Line: c.err.line, Reason: fmt.Sprintf("the severity %q is not known", e.Severity)}
	}
	f := &Failure{Text: e.Text, Again: !e.Final, code: e.Code, severity: e.Severity, user: e.User}
	if e.Kind != "" {
		own := &model.Error{Kind: e.Kind, Model: e.Model, Message: e.Message, Status: e.Status}
		f.cause, f.code = own, own.Code()
	}
	return f, nil
}

// fails returns the recorded error, when it happens.
func (c *call) fails(ctx context.Context) error {
	if c.cancelled() {
		return hang(ctx)
	}
	f, err := c.failure()
	if err != nil {
		return err
	}
	if f.severity != "" {
		return agent.Failed(f.severity, f)
	}
	return f
}

// maxHang is how long a replayed call waits for the end of its context, if it was recorded so.
const maxHang = time.Minute

// hang waits for the end of ctx.
func hang(ctx context.Context) error {
	late := time.NewTimer(maxHang)
	defer late.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-late.C:
		return fmt.Errorf("recording: the recorded call was cancelled, and this one was not within %v", maxHang)
	}
}
