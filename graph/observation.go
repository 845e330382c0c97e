package graph

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/weftrun/weft/checkpoint"
)

// slotCarrier is the slot of a pending write of no task: what the observer of the run that paused
// last keeps.
const slotCarrier = "carrier"

// observation is what an observer knows of a run.
type observation struct {
	ctx     context.Context // of the run's parts
	carrier map[string]string
	before  map[string]string
	ended   sync.Once
	end     func(Outcome)
}

// context returns the context of the parts of the run: that of the run, with what its observer
// added.
func (r *run) context() context.Context {
	if o := r.observed.Load(); o != nil {
		return o.ctx
	}
	return r.ctx
}

// carrier returns what the commits of the run keep for its observer.
func (r *run) carrier() map[string]string {
	if o := r.observed.Load(); o != nil {
		return o.carrier
	}
	return nil
}

// carrierEntries returns what is stored as pending writes by a run that stops.
func (r *run) carrierEntries() []checkpoint.Entry {
	c := r.carrier()
	if len(c) == 0 {
		return nil
	}
	data, _ := json.Marshal(c) // cannot fail
	return []checkpoint.Entry{{Slot: slotCarrier, Data: data}}
}

// endObserved reports the end of the run to its observer, once. It is called when the run has
// ended, or is given up.
func (r *run) endObserved(out outcome, err error) {
	w := r.observed.Load()
	if w == nil {
		return
	}
	w.ended.Do(func() {
		w.end(Outcome{Err: err, Status: out.status, Interrupts: out.interrupts, Steps: out.steps, Before: w.before})
	})
}

// noteBefore finds what the observer of an earlier run has left in a thread.
func (r *run) noteBefore(chain *checkpoint.Chain) {
	o := r.observed.Load()
	if o == nil || r.inside != nil {
		return
	}
	o.before = chain.Record.Carrier
	for _, e := range chain.Pending {
		var c map[string]string
		if e.Task == "" && e.Slot == slotCarrier && json.Unmarshal(e.Data, &c) == nil {
			o.before = c
		}
	}
}
