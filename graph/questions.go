package graph

import (
	"maps"
	"slices"

	"github.com/weftrun/weft/checkpoint"
)

// questions are what a run knows of its questions and of their answers.
type questions struct {
	given    answers               // the answers, by the id of the question; a subgraph begins with those of its parent
	answered []checkpoint.Answered // the answers of the turn, for its records
	asked    map[string]Interrupt  // the questions that were asked before this call, by id
	traced   map[string]bool       // the answers that the trace of a commit has, by id
}

// add adds answers to those that the questions have.
func (q *questions) add(given answers) {
	all := answers{}
	maps.Copy(all, q.given) // a subgraph shares it with others
	maps.Copy(all, given)
	q.given = all
	q.answered = slices.Clip(q.answered)
	for _, id := range slices.Sorted(maps.Keys(all)) {
		if digest := all[id].digest(); !q.hasAnswered(id, digest) {
			q.answered = append(q.answered, checkpoint.Answered{ID: id, Answer: digest})
		}
	}
}

// hasAnswered reports whether this turn had this answer before. Without an id any question will do.
func (q *questions) hasAnswered(id, digest string) bool {
	return slices.ContainsFunc(q.answered, func(a checkpoint.Answered) bool {
		return (id == "" || id == a.ID) && a.Answer == digest
	})
}

// noteAsked remembers a question that was asked before this call.
func (q *questions) noteAsked(in Interrupt) {
	if q.asked == nil {
		q.asked = map[string]Interrupt{}
	}
	q.asked[in.ID] = in
}

// takeUntraced returns the answers that no trace of a commit has yet, for the next commit.
func (q *questions) takeUntraced() answers {
	fresh := answers{}
	for id, a := range q.given {
		if !q.traced[id] {
			fresh[id] = a
		}
	}
	if q.traced == nil {
		q.traced = map[string]bool{}
	}
	for id := range fresh {
		q.traced[id] = true
	}
	return fresh
}
