package graph

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/weftrun/weft/checkpoint"
)

// The slots of the pending writes of a task, and of those that have no task.
const (
	slotResult = "result" // what the finished task did
	slotLast   = "last"   // how it ended last: with open questions, or with a failure
	// slotFailure, in handler.go: what the task's handler is to mend
	slotAnswer  = "answer/"  // no task: the answer to the question whose id follows
	slotRefusal = "refusal/" // no task: why the question whose id follows gets no answer
	slotSeen    = "seen/"    // no task: the question was shown whose id follows
	slotPaused  = "paused"   // no task: the static interrupt here was reported
)

// message returns what went wrong in a task, without the place, which is stored beside it.
func message(err error) string {
	if n := (*NodeError)(nil); guard(false, func() bool { return errors.As(err, &n) }) {
		return textOf(n.Err)
	}
	return textOf(err)
}

// pending are the pending writes at a commit, by task and slot.
type pending struct {
	byTask map[string]map[string][]byte // task → slot → data; "" for those that have no task
	given  answers
}

func sortPending(entries []checkpoint.Entry) pending {
	p := pending{map[string]map[string][]byte{}, answers{}}
	for _, e := range entries {
		if id, ok := strings.CutPrefix(e.Slot, slotAnswer); ok {
			p.given[id] = answer{data: e.Data}
			continue
		}
		if id, ok := strings.CutPrefix(e.Slot, slotRefusal); ok {
			var a answer
			if json.Unmarshal(e.Data, &a.refusal) == nil {
				p.given[id] = a
			}
			continue
		}
		if p.byTask[e.Task] == nil {
			p.byTask[e.Task] = map[string][]byte{}
		}
		p.byTask[e.Task][e.Slot] = e.Data
	}
	if len(p.given) > 0 {
		p.given.readDecisions(entries)
	}
	return p
}

// note returns the data in a slot that belongs to no task, or nil.
func (p pending) note(slot string) []byte { return p.byTask[""][slot] }

// open returns the questions of the due tasks that have no answer, in canonical
// order.
func (p pending) open(rec *checkpoint.Record) (open []Interrupt, err error) {
	if _, err := p.dropInvalid(); err != nil {
		return nil, err
	}
	for _, t := range rec.Next {
		asked, err := askedIn(p.byTask[t.ID])
		if err != nil {
			return nil, err
		}
		open = append(open, unanswered(asked, p.given)...)
	}
	return open, nil
}

// unfinished is how a task ended that did not finish.
type unfinished struct {
	Open    []Interrupt `json:"open,omitempty"` // with Failure: those of a subgraph that failed
	Failure *Failure    `json:"failure,omitempty"`
	Tried   []Failure   `json:"tried,omitempty"` // with Open: the alternatives before the one that asked
	Timed   []Interrupt `json:"timed,omitempty"` // without Open: what was asked before that expires
	Try     int         `json:"try,omitempty"`   // see invalidation
	Again   bool        `json:"again,omitempty"` // it runs again, whatever is open: its subgraph was edited

	// Of a run that is driven from outside: its id, and TaskRequest.Try; with Failure whether
	// the policy takes it for final, and how long it asks to wait.
	Run    string        `json:"run,omitempty"`
	RunTry int           `json:"run_try,omitempty"`
	Final  bool          `json:"final,omitempty"`
	After  time.Duration `json:"after,omitempty"`
}

// readLast returns how an unfinished task ended last. A task that has finished, or was
// never run, gives nothing.
func readLast(slots map[string][]byte) (last unfinished, err error) {
	if slots[slotResult] != nil || slots[slotLast] == nil {
		return last, nil
	}
	if err := json.Unmarshal(slots[slotLast], &last); err != nil {
		return last, fmt.Errorf("graph: the last end of a task: %w", err)
	}
	return last, nil
}

// askedIn returns why an unfinished task paused: its questions, answered or not, and
// the static interrupts of a subgraph.
func askedIn(slots map[string][]byte) ([]Interrupt, error) {
	last, err := readLast(slots)
	return last.Open, err
}

// unanswered returns the questions that have no answer yet.
func unanswered(asked []Interrupt, given answers) (open []Interrupt) {
	for _, in := range asked {
		if in.isOpen(given) {
			open = append(open, in)
		}
	}
	return open
}

// invalidation marks stored results of tasks as invalid, because they could not be folded
// together.
type invalidation struct {
	Message string `json:"message"`
	// Try counts how often that came to pass at this head: results with a smaller
	// result.Try do not count, those of the tries after it do.
	Try int `json:"try"`
	// Run is the id of the run, where that is driven from outside.
	Run string `json:"run,omitempty"`
}

// invalidation returns the newest one; its Try is 0 if there is none.
func (p pending) invalidation() (v invalidation, err error) {
	data := p.note(slotInvalid)
	if data == nil {
		return v, nil
	}
	if json.Unmarshal(data, &v.Message) == nil { // before tries were counted
		v.Try = 1
		return v, nil
	}
	if err := json.Unmarshal(data, &v); err != nil {
		return v, fmt.Errorf("graph: why the results of a step do not count: %w", err)
	}
	return v, nil
}

// dropInvalid removes the results that do not count, and returns the number of the try. A task
// whose result does not count had finished: what it asked before that is not open any more.
func (p pending) dropInvalid() (try int, err error) {
	v, err := p.invalidation()
	if err != nil || v.Try == 0 {
		return 0, err
	}
	for _, slots := range p.byTask {
		var res struct{ Try int }
		if data := slots[slotResult]; data != nil && (json.Unmarshal(data, &res) != nil || res.Try < v.Try) {
			delete(slots, slotResult)
		}
		if err := dropAsked(slots, v.Try); err != nil {
			return 0, err
		}
	}
	return v.Try, nil
}

// dropAsked closes the questions of a task from before a try. It stays known when they
// expire.
func dropAsked(slots map[string][]byte, try int) error {
	last, err := readLast(slots)
	if err != nil || len(last.Open) == 0 || last.Try >= try {
		return err
	}
	slots[slotLast], err = json.Marshal(unfinished{Timed: append(last.Open, last.Timed...), Try: try})
	return err
}

// slotFailure is a task's slot for the failure that its handler is given.
const slotFailure = "failure"
