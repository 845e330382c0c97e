package graph

import "errors"

// giveUp gives up r, whose nodes do not stop, and returns why. What r does from now on does not
// count. With Exit, nothing of r is stored yet, so what it has come to is stored first.
func (r *run) giveUp() error {
	err := r.running.abandoned(r)
	if r.opts.Durability == Exit {
		if unsaved := r.running.store(r); unsaved != nil {
			err = errors.Join(err, unsaved)
		}
	}
	r.givenUp.Store(true)
	r.session.gaveUp.Store(true)
	return err
}

// store stores what r, and the subgraphs in it whose nodes run, have come to.
func (l *running) store(r *run) error {
	var errs []error
	for _, t := range l.all(r) {
		errs = append(errs, t.storeMeanwhile())
	}
	return errors.Join(errs...)
}

// storeMeanwhile stores what the run of t had come to before the step that runs, the tasks of that
// step that have finished, and the subgraphs that t has finished. It does nothing if the step has
// ended.
func (t *task) storeMeanwhile() error {
	r := t.run
	r.executing.mu.Lock()
	defer r.executing.mu.Unlock()
	if !r.executing.on || t.isGivenUp() {
		return nil
	}
	err := r.journal.Flush()
	if err == nil {
		r.storeFinished(r.executing.finished)
		r.executing.finished, err = nil, r.keepErr
	}
	if t.called().hasUnsaved() {
		err = errors.Join(err, t.called().save())
	}
	return err
}
