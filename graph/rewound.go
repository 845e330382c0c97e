package graph

import (
	"fmt"
	"maps"
	"strings"
	"sync"

	"github.com/weftrun/weft/checkpoint"
)

// slotPast is the prefix of a slot that holds the results and answers of a task on the branch from
// which the thread went back. It counts until the task comes to the call that goes back.
const slotPast = "past/"

// rewound is what a task needs that runs again to resume a subgraph at an older commit: where to go
// back, and what the task did before. A nil rewound is that of a task that does not go back.
type rewound struct {
	checkpoint.Rewind
	results map[string]memoValue // the results it had before
	given   answers              // the answers it had before

	mu      sync.Mutex
	reached bool    // the task has come to the call
	used    answers // those of given that it has used
}

// resumePoint is the commit at which a subgraph continues on this branch of the thread.
type resumePoint struct {
	namespace string
	at        uint64             // the number of the commit; 0 if the subgraph begins anew
	next      *checkpoint.Rewind // for a task of the subgraph
}

// newRewound returns what t needs to go back. slots are the pending writes of t.
func newRewound(t *task, rw *checkpoint.Rewind, slots map[string][]byte) (*rewound, error) {
	b := &rewound{Rewind: *rw, results: map[string]memoValue{}, used: answers{}}
	var past []checkpoint.Entry
	for slot, data := range slots {
		slot, ok := strings.CutPrefix(slot, slotPast)
		if !ok {
			continue
		}
		past = append(past, checkpoint.Entry{Slot: slot, Data: data})
		if id, ok := strings.CutPrefix(slot, slotMemo); ok {
			v, err := readMemoValue(data)
			if err != nil {
				return nil, err
			}
			b.results[id] = v
		}
	}
	b.given = sortPending(past).given
	if up := t.run.inside; up != nil && up.rewound() != nil {
		b.given = up.rewound().given // the answers are stored at the root
	}
	return b, nil
}

// anew returns b for another attempt, which has not come to the call. The one before may still run.
func (b *rewound) anew() *rewound {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return &rewound{Rewind: b.Rewind, results: b.results, given: b.given, used: maps.Clone(b.used)}
}

// restart forgets that the task came to the call: its node runs again.
func (b *rewound) restart() {
	if b != nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.reached = false
	}
}

// comesTo returns where the subgraph of a call goes on from. The call that goes back continues at
// the commit that b names, and all calls after it begin anew.
func (b *rewound) comesTo(v *childCall) (resumePoint, error) {
	if b == nil {
		return resumePoint{}, nil
	}
	isIt := b.Call == v.call()
	b.mu.Lock()
	late := b.reached
	b.reached = late || isIt
	b.mu.Unlock()
	switch {
	case late:
		return resumePoint{}, nil
	case isIt:
		return resumePoint{b.Namespace, b.At, b.Next}, nil
	}
	return v.ended()
}

// result returns what the task stored under an id before the thread went back.
func (b *rewound) result(id string) (v memoValue, ok bool) {
	if b == nil {
		return v, false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.reached {
		v, ok = b.results[id]
	}
	return v, ok
}

// answer returns the answer that a question had before the thread went back.
func (b *rewound) answer(id string) (a answer, ok bool) {
	if b == nil {
		return a, false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.reached {
		return a, false
	}
	if a, ok = b.given[id]; ok {
		b.used[id] = a
	}
	return a, ok
}

// usedAnswers returns the answers from before that the task has used.
func (b *rewound) usedAnswers() answers {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return maps.Clone(b.used)
}

// missed returns an error if the task, which has finished, did not come to the call.
func (b *rewound) missed() error {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.reached {
		return nil
	}
	return Permanent(fmt.Errorf("%w: the node has finished and did not call the subgraph of namespace %q, which is to go on from its commit %d",
		ErrProgram, b.Namespace, b.At))
}

// branches returns the branches of the thread on which the task ran before, newest first.
func (b *rewound) branches() []uint64 {
	if b == nil {
		return nil
	}
	return b.Branches
}
