package graph

// ending is how a task has ended, as far as it has: with an error, with open questions, or with a
// result, where there is neither.
type ending struct {
	err         error
	consequence bool        // err came after the run's context had ended: it is not the cause of anything
	open        []Interrupt // the questions that have no answer
	timed       []Interrupt // what was asked before this call of the run and expires
	tried       []Failure   // the alternatives of a Fallback that have failed
	settled     bool        // there is nothing to run: the end is stored
	cached      bool        // the result comes from the cache
}

// finished reports whether a task that has ended has a result.
func (e *ending) finished() bool { return e.err == nil && len(e.open) == 0 }

// kind returns how the task has ended; "" if its end is not settled.
func (e *ending) kind() TaskEnd {
	switch {
	case !e.settled:
		return ""
	case e.err != nil:
		return TaskFailed
	case len(e.open) > 0:
		return TaskAsked
	}
	return TaskFinished
}
