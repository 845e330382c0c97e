package turn

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/weftrun/weft/conversation/thread"
	"github.com/weftrun/weft/state/agent"
)

// appState is the state of the application during a turn.
type appState struct {
	Data    json.RawMessage `json:"data,omitempty"`
	Stored  json.RawMessage `json:"stored,omitempty"` // as it was read
	Version uint64          `json:"version,omitempty"`
	Save    bool            `json:"save,omitempty"`
}

// AppState returns the state of the application of a thread, as it was when the turn began or as
// [SetAppState] has set it. ok is false if there is none.
func AppState[T any](s *agent.State) (v T, ok bool, err error) {
	a, _, err := agent.Recall[appState](s, appStateName)
	if err != nil || len(a.Data) == 0 {
		return v, false, err
	}
	err = json.Unmarshal(a.Data, &v)
	return v, err == nil, err
}

// SetAppState changes the state of the application. The turn saves it when it ends, by
// [Services.Strategy].
func SetAppState[T any](s *agent.State, v T) error {
	a, _, err := agent.Recall[appState](s, appStateName)
	if err != nil {
		return err
	}
	if a.Data, err = json.Marshal(v); err != nil {
		return err
	}
	return agent.Remember(s, appStateName, a)
}

// SaveAppState makes the turn save the state of the application when it ends.
func SaveAppState(s *agent.State) error {
	a, _, err := agent.Recall[appState](s, appStateName)
	if err != nil {
		return err
	}
	a.Save = true
	return agent.Remember(s, appStateName, a)
}

// save saves the state of the application, if the application or the strategy requests it. After a
// crash, a state that was saved is recognized by its version and its value.
func (v *Services) save(ctx context.Context, s *agent.State, name string) error {
	a, ok, err := agent.Recall[appState](s, appStateName)
	if v.Threads == nil || !ok || err != nil {
		return err
	}
	if changed := !sameJSON(a.Data, a.Stored); len(a.Data) == 0 || !a.Save && (v.Strategy != thread.Implicit || !changed) {
		return nil
	}
	next := a.Version + 1
	state := &thread.State[json.RawMessage]{Data: &a.Data, Version: next}
	_, err = v.Threads.SetState(ctx, name, state)
	if errors.Is(err, thread.ErrThreadNotFound) {
		if err = v.Threads.Create(ctx, name); err == nil {
			_, err = v.Threads.SetState(ctx, name, state)
		}
	}
	if errors.Is(err, thread.ErrConflict) {
		stored, lost := v.Threads.State(ctx, name)
		if lost == nil && stored != nil && stored.Data != nil && stored.Version == next && sameJSON(*stored.Data, a.Data) {
			err = nil
		}
	}
	if err != nil {
		return fmt.Errorf("turn: saving the state of the application: %w", err)
	}
	return agent.Remember(s, appStateName, appState{Data: a.Data, Stored: a.Data, Version: next})
}

// sameJSON reports whether two texts are the same JSON value.
func sameJSON(a, b json.RawMessage) bool {
	var x, y bytes.Buffer
	if json.Compact(&x, a) != nil || json.Compact(&y, b) != nil {
		return bytes.Equal(a, b)
	}
	return bytes.Equal(x.Bytes(), y.Bytes())
}
