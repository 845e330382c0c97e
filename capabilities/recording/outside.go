package recording

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/weftrun/weft/graph"
)

// outside makes a call that leaves the process, or replays it. Its request and its result are what
// their JSON has. While it records, the result is the stored one: without secrets.
func outside[Out any](ctx context.Context, kind, name string, request any, do func(context.Context) (Out, error)) (out Out, err error) {
	r := of(ctx)
	if r == nil {
		out, err = do(ctx)
		return out, own(err)
	}
	v, err := valueOf(request)
	if err != nil {
		return out, fmt.Errorf("recording: the request of the %s has no JSON: %w", &call{kind: kind, name: name}, err)
	}
	old, m, err := r.begin(ctx, kind, name, v)
	if err != nil {
		return out, err
	}
	if old != nil {
		if old.err != nil {
			return out, old.fails(ctx)
		}
		err = strict(old.result, &out)
		return out, err
	}
	out, err = do(without(ctx))
	switch bad, ok := err.(*unrecordable); {
	case ok:
		r.drop(m)
		r.refuse(fmt.Errorf("recording: %sthe %s cannot be recorded: %w", m.place(), m, bad.err))
		return out, bad.err
	case errors.Is(err, graph.ErrInterrupted):
		r.drop(m)
		r.refuse(&AskError{m.node, m.String()})
		return out, err
	case err != nil:
		v := errorValue(ctx, err)
		if kind == kindCapability || kind == kindFunction {
			classify(v, err)
		}
		r.end(m, outcome{nil, v})
		return out, err
	}
	result, jerr := valueOf(out)
	if jerr != nil {
		r.refuse(fmt.Errorf("recording: the %s of the %s has no JSON: %w", results[kind], m, jerr))
		return out, nil
	}
	if !r.end(m, outcome{result, nil}) {
		return out, nil
	}
	var stored Out
	err = strict(m.result, &stored)
	return stored, err
}

// unrecordable is the error of a call that cannot be recorded.
type unrecordable struct{ err error }

func (e *unrecordable) Error() string { return e.err.Error() }

// Unrecordable returns an error that do of [HTTP], [Exec] and [Function] returns for a call that
// cannot be recorded, such as one without its key. They return err, and the run is not recorded.
func Unrecordable(err error) error { return &unrecordable{err} }

// own returns the error that Unrecordable got.
func own(err error) error {
	if bad, ok := err.(*unrecordable); ok {
		return bad.err
	}
	return err
}

// strict is into for a type that has all members. Numbers keep their digits.
func strict(v *value, to any) error {
	dec := json.NewDecoder(bytes.NewReader(v.json(nil)))
	dec.UseNumber()
	dec.DisallowUnknownFields()
	if err := dec.Decode(to); err != nil {
		return &FileError{Line: v.line, Reason: err.Error()}
	}
	return nil
}
