package graph

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/weftrun/weft/checkpoint"
)

// slotPin is the slot of no task with the program to which a thread is pinned. The next commit
// moves it into its record.
const slotPin = "pin"

// PinnedError is the error of a run or an edit with another program than the one to which the
// thread is pinned. It is an [ErrPinned] and an [ErrProgram]. The thread is unchanged.
type PinnedError struct {
	Thread  string
	Pin     string // the program to which the thread is pinned, see Graph.Program
	Program string // the one that was refused
}

func (e *PinnedError) Error() string {
	return fmt.Sprintf("%v: thread %q is pinned to %s, and this is %s", ErrPinned, e.Thread, e.Pin, e.Program)
}

// Is makes errors.Is(err, ErrPinned) and errors.Is(err, ErrProgram) true.
func (e *PinnedError) Is(target error) bool { return target == ErrPinned || target == ErrProgram }

// Pin pins a thread to a program, which [Graph.Program] returns: runs and edits with any other
// program are refused with a [*PinnedError]. "" unpins the thread. Reading and replaying are free.
// The pin holds for the whole thread, on all its branches and in copies. While a run owns the
// thread, Pin changes nothing and returns a [*checkpoint.BusyError].
//
// Config.Pin pins each thread to the program that begins it.
func Pin(ctx context.Context, store checkpoint.Store, thread, program string) error {
	held, err := checkpoint.Hold(ctx, store, thread, checkpoint.HoldOptions{})
	if err != nil {
		return err
	}
	err = pin(held.Context(), store, thread, program, held.Fence())
	return errors.Join(err, held.Release(context.WithoutCancel(ctx)))
}

func pin(ctx context.Context, store checkpoint.Store, thread, program, fence string) error {
	p, err := Inspect(ctx, store, checkpoint.Key{Thread: thread})
	if err != nil || p.Pin == program {
		return err
	}
	data, err := json.Marshal(program)
	if err != nil {
		return err
	}
	return checkpoint.Put(ctx, store, checkpoint.Pending{Key: checkpoint.Key{Thread: thread}, Head: p.Checkpoint,
		Entries: []checkpoint.Entry{{Slot: slotPin, Data: data}}, Fence: fence})
}

// pinOf returns the program to which a thread is pinned, as of a commit with its pending writes.
func pinOf(rec *checkpoint.Record, beside []checkpoint.Entry) (program string, err error) {
	for i := range beside {
		if e := &beside[i]; e.Task == "" && e.Slot == slotPin {
			if err := json.Unmarshal(e.Data, &program); err != nil {
				return "", fmt.Errorf("graph: the pin of the thread: %w", err)
			}
			return program, nil
		}
	}
	return rec.Pin, nil
}

// setPin takes over the pin of the newest commit. It returns a PinnedError if the thread is pinned
// to another program.
func (r *run) setPin(rec *checkpoint.Record, beside []checkpoint.Entry) (err error) {
	if r.pin, err = pinOf(rec, beside); err != nil {
		return r.fail(err)
	}
	if r.pin == "" || r.pin == r.hash || r.req.replays() {
		return nil
	}
	return &PinnedError{Thread: r.opts.Thread, Pin: r.pin, Program: r.hash}
}
