package graph

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/weftrun/weft/checkpoint"
)

// slotRun belongs to no task: the answers that came with the Plans of a run that is driven from
// outside.
const slotRun = "run"

// runAnswers are the questions that a run has answered at this head.
type runAnswers struct {
	Run       string   `json:"run"`
	Questions []string `json:"questions"`
}

// answersBefore returns the answers at this head that came with the Plans of the run; nil if
// there are none.
func (d *drivenRun) answersBefore(stored pending) (answers, error) {
	if d == nil {
		return nil, nil
	}
	data := stored.note(slotRun)
	if data == nil {
		return nil, nil
	}
	var a runAnswers
	if err := json.Unmarshal(data, &a); err != nil {
		return nil, d.fail(fmt.Errorf("the answers of a run: %w", err))
	}
	if a.Run != d.session.id {
		return nil, nil
	}
	fresh := answers{}
	for _, id := range a.Questions {
		if given, ok := stored.given[id]; ok {
			fresh[id] = given
		}
	}
	return fresh, nil
}

// noteAnswers returns the entries that add fresh to the answers of the run.
func (d *drivenRun) noteAnswers(fresh answers, stored pending) ([]checkpoint.Entry, error) {
	if d == nil {
		return nil, nil
	}
	before, err := d.answersBefore(stored)
	if err != nil {
		return nil, err
	}
	all := maps.Clone(fresh)
	maps.Copy(all, before)
	data, err := json.Marshal(runAnswers{d.session.id, slices.Sorted(maps.Keys(all))})
	return []checkpoint.Entry{{Slot: slotRun, Data: data}}, err
}

// checkRepeated returns an error if an answer without an id may be one that the run had before
// or one to another question.
func (d *drivenRun) checkRepeated(a Answers, open []Interrupt) error {
	if d == nil || !d.hasBegun || len(open) == 0 {
		return nil
	}
	for _, g := range a.given {
		given, err := g.answer()
		if err == nil && g.id == "" && d.questions.hasAnswered("", given.digest()) {
			return fmt.Errorf("%w: run %q had this answer before:\n%s", ErrAmbiguous, d.session.id, list(open))
		}
	}
	return nil
}

// keepOwnInvalid lets results count that could not be folded in this run, so that a Commit that is
// made again comes to the same error.
func (d *drivenRun) keepOwnInvalid(stored pending) error {
	if d == nil {
		return nil
	}
	v, err := stored.invalidation()
	if err != nil || v.Try == 0 || v.Run != d.session.id {
		return err
	}
	if v.Try--; v.Try == 0 {
		delete(stored.byTask[""], slotInvalid)
		return nil
	}
	stored.byTask[""][slotInvalid], err = json.Marshal(v)
	return err
}

// pauseNote returns what is stored where the run pauses at a static interrupt: its id if the caller
// has chosen it.
func (r *run) pauseNote() []byte {
	if r.driven == nil && r.session.opts.ID == "" || r.inside != nil && r.session.root.driven != nil {
		return []byte("true")
	}
	return []byte(strconv.Quote(r.session.id))
}

// passes reports whether the run passes the static interrupt of a note. A run with an id of the
// caller does not pass those at which it has paused itself: the call was made again.
func (r *run) passes(note []byte) bool {
	own := string(r.pauseNote())
	return note != nil && (own == "true" || string(note) != own)
}

// runID returns the id of a run that is driven from outside, "" for any other.
func (d *drivenRun) runID() string {
	if d == nil {
		return ""
	}
	return d.session.id
}

// isEnd reports whether last is how a task ended in this run, and not only in one before it.
func (d *drivenRun) isEnd(last unfinished) bool {
	if d == nil || last.Run != d.session.id || last.RunTry < d.try || last.Again {
		return false
	}
	answered := func(in Interrupt) bool { return in.IsQuestion() && !in.isOpen(d.questions.given) }
	return !slices.ContainsFunc(last.Open, answered)
}
