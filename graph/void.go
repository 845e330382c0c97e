package graph

import (
	"encoding/json"
	"fmt"
)

// voided says that results beside the head do not count, because they could not be folded
// together.
type voided struct {
	Message string `json:"message"`
	// Try counts how often that came to pass at this head: results with a smaller
	// result.Try do not count, those of the tries after it do.
	Try int `json:"try"`
	// Run is the id of the run, where that is driven from outside.
	Run string `json:"run,omitempty"`
}

// void returns the newest voided; its Try is 0 if there is none.
func (p pending) void() (v voided, err error) {
	data := p.note(slotVoid)
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

// dropVoid removes the results that do not count, and returns the number of the try. A task
// whose result does not count had finished: what it asked before that is open no more.
func (p pending) dropVoid() (try int, err error) {
	v, err := p.void()
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
