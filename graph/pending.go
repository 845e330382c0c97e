package graph

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/weftrun/weft/checkpoint"
)

// The slots of pending writes, which belong to a task or to no task. More of them are slotMemo and
// slotInvalid (storednames.go), slotPast (rewound.go), slotEdit (editsubgraph.go) and slotRun
// (drivenpending.go).
const (
	slotResult  = "result"   // the result of a finished task
	slotLast    = "last"     // the last end of an unfinished task: open questions or a failure
	slotFailure = "failure"  // the failure for the task's handler
	slotAnswer  = "answer/"  // no task; followed by the id of the question: its answer
	slotRefusal = "refusal/" // no task; followed by the id of the question: why it gets no answer
	slotSeen    = "seen/"    // no task; followed by the id of the question: it was shown
	slotPaused  = "paused"   // no task: the static interrupt here was reported
)

// message returns the text of a task's error without the place, which is stored separately.
func message(err error) string {
	if n := (*NodeError)(nil); guard(false, func() bool { return errors.As(err, &n) }) {
		return textOf(n.Err)
	}
	return textOf(err)
}

// pending are the pending writes at a commit, by task and slot.
type pending struct {
	byTask map[string]map[string][]byte // task → slot → data; "" for no task
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

// refused reports whether a question was closed without an answer.
func (p pending) refused() bool {
	for _, a := range p.given {
		if a.refusal != "" {
			return true
		}
	}
	return false
}

// note returns the data in a slot of no task, or nil.
func (p pending) note(slot string) []byte { return p.byTask[""][slot] }

// open returns the unanswered questions of the due tasks, in canonical order.
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

// unfinished is the last end of a task that has not finished.
type unfinished struct {
	Open    []Interrupt `json:"open,omitempty"` // with Failure: the questions of a failed subgraph
	Failure *Failure    `json:"failure,omitempty"`
	Tried   []Failure   `json:"tried,omitempty"` // with Open: the alternatives before the one that asked
	Timed   []Interrupt `json:"timed,omitempty"` // without Open: earlier questions that expire
	Try     int         `json:"try,omitempty"`   // see invalidation
	Again   bool        `json:"again,omitempty"` // its subgraph was edited: it runs again even with open questions

	// For a run that is driven from outside: its id and TaskRequest.Try. With Failure: whether
	// the policy takes it as final, and how long to wait before a retry.
	Run    string        `json:"run,omitempty"`
	RunTry int           `json:"run_try,omitempty"`
	Final  bool          `json:"final,omitempty"`
	After  time.Duration `json:"after,omitempty"`
}

// readLast returns the last end of an unfinished task, or the zero value for a task that has
// finished or has never run.
func readLast(slots map[string][]byte) (last unfinished, err error) {
	if slots[slotResult] != nil || slots[slotLast] == nil {
		return last, nil
	}
	if err := json.Unmarshal(slots[slotLast], &last); err != nil {
		return last, fmt.Errorf("graph: the last end of a task: %w", err)
	}
	return last, nil
}

// askedIn returns the interrupts of an unfinished task: its questions, answered or not, and the
// static interrupts of a subgraph.
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
	// Try counts the invalidations at this commit. Results with a smaller result.Try are
	// invalid, later ones are valid.
	Try int `json:"try"`
	// Run is the id of a run that is driven from outside.
	Run string `json:"run,omitempty"`
}

// invalidation returns the newest one; its Try is 0 if there is none.
func (p pending) invalidation() (v invalidation, err error) {
	data := p.note(slotInvalid)
	if data == nil {
		return v, nil
	}
	if json.Unmarshal(data, &v.Message) == nil { // written before invalidations were counted
		v.Try = 1
		return v, nil
	}
	if err := json.Unmarshal(data, &v); err != nil {
		return v, fmt.Errorf("graph: why the results of a step do not count: %w", err)
	}
	return v, nil
}

// dropInvalid removes invalid results, and returns how often results were invalidated. A task with
// an invalid result had finished, so its earlier questions are closed.
func (p pending) dropInvalid() (invalidations int, err error) {
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

// dropAsked closes the questions that a task asked before an invalidation. The times at which they
// expire stay.
func dropAsked(slots map[string][]byte, invalidation int) error {
	last, err := readLast(slots)
	if err != nil || len(last.Open) == 0 || last.Try >= invalidation {
		return err
	}
	slots[slotLast], err = json.Marshal(unfinished{Timed: append(last.Open, last.Timed...), Try: invalidation})
	return err
}
