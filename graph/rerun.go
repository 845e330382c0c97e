package graph

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/weftrun/weft/checkpoint"
)

// slotRerun is the slot of a rerun. It has no task.
const slotRerun = "rerun"

// rerun is how often the runs of a step have failed in turn, and when the next one is due. It is
// stored beside the newest commit, so the commit of the step ends it.
type rerun struct {
	Failures int       `json:"failures"`
	Since    time.Time `json:"since"`       // the first failure
	At       time.Time `json:"at,omitzero"` // the zero time: no other run is to follow
}

// rerun returns the stored one, or nil.
func (p pending) rerun() (*rerun, error) {
	data := p.note(slotRerun)
	if data == nil {
		return nil, nil
	}
	var r rerun
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, fmt.Errorf("graph: when the failed run is tried again: %w", err)
	}
	return &r, nil
}

// nextRerun returns when the run is to be tried again, and the entry that stores it; nil if its
// tasks have not failed by themselves. An engine that drives a run has retries of its own.
func (r *run) nextRerun() (at time.Time, entries []checkpoint.Entry, err error) {
	if r.inside != nil || r.driven != nil || r.cfg.Timers == nil || r.cfg.RunRetry.Attempts < 2 {
		return at, nil, nil
	}
	cause := r.ownFailure()
	if cause == nil {
		return at, nil, nil
	}
	now := r.cfg.Now().UTC()
	next := rerun{Failures: 1, Since: now}
	if before := r.failedBefore; before != nil {
		next.Failures, next.Since = before.Failures+1, before.Since
	}
	if wait, ok := r.cfg.RunRetry.again(next.Failures, cause, now.Sub(next.Since), r.cfg.Rand); ok {
		next.At = now.Add(wait)
	}
	data, err := json.Marshal(next)
	if err != nil {
		return at, nil, r.fail(err)
	}
	return next.At, []checkpoint.Entry{{Slot: slotRerun, Data: data}}, nil
}

// ownFailure returns the first failure of the step that is no consequence of another, or nil.
func (s *superstep) ownFailure() error {
	for _, t := range s.tasks {
		if t.err != nil && len(t.open) == 0 && !t.consequence {
			return t.err
		}
	}
	return nil
}
