package graph

import (
	"context"
	"iter"
)

// Handle is a run that is under way. Other processes see what it has committed, with [Inspect] and
// [History]. Its methods are safe for concurrent use.
type Handle[S any] struct {
	f      *session
	remote Remote[S] // if it is not nil, f is
}

// Remote is a run that other processes carry out. Its methods do what those of [Handle] do.
type Remote[S any] interface {
	ID() string
	Join(r Reader) iter.Seq2[Event, error]
	Wait() (Result[S], error)
	Drain(reason string)
	Cancel(cause error)
}

// RemoteHandle returns a Handle of a run in other processes, for packages that implement [Untyped]
// on an engine of their own.
func RemoteHandle[S any](r Remote[S]) *Handle[S] { return &Handle[S]{remote: r} }

// session returns the run; that of the zero Handle cannot begin.
func (l *Handle[S]) session() *session {
	if l.f == nil {
		return (*program)(nil).live(context.Background(), RunOptions{Hold: true}, request{})
	}
	return l.f
}

// ID returns the id of the run, as in Result.Run.
func (l *Handle[S]) ID() string {
	if l.remote != nil {
		return l.remote.ID()
	}
	return l.session().id
}

// Events is Join for a reader of these modes that slows the run when it is slow.
func (l *Handle[S]) Events(modes Mode) iter.Seq2[Event, error] { return l.Join(Reader{Modes: modes}) }

// Join adds a reader, and returns the loop over its events: those from now on, the
// Ended event, or, if the run fails, an error. Events wait in the reader's buffer
// from now on, so a reader that is not Lossy must read, lest the run waits for it. One
// that stops early only leaves, and so does one that panics: the run goes on. After the
// end of the run there is only that to read. A second loop is a reader of its own,
// which joins when it begins.
func (l *Handle[S]) Join(r Reader) iter.Seq2[Event, error] {
	if l.remote != nil {
		return l.remote.Join(r)
	}
	f := l.session()
	return f.events.readers(r, f.start)
}

// Wait waits for the end of the run and returns what Invoke would. Any number of
// callers may wait, also after the end.
func (l *Handle[S]) Wait() (Result[S], error) {
	if l.remote != nil {
		return l.remote.Wait()
	}
	out, err := l.session().wait()
	return resultOf[S](out), err
}

// Drain asks the run to stop at the end of the superstep, be it one of a subgraph. What
// has finished is committed; the Result has the reason, and the Status Pending, or
// Interrupted where questions are open too. A run that has nothing left to do after
// the step ends as ever. Without a store what is left is lost.
func (l *Handle[S]) Drain(reason string) {
	if l.remote != nil {
		l.remote.Drain(reason)
		return
	}
	l.session().drain.Request(reason)
}

// Cancel stops the run at once, as cancelling its context does: Wait then returns an
// error that wraps cause. What had finished is stored first. A nil cause is
// [context.Canceled].
func (l *Handle[S]) Cancel(cause error) {
	if cause == nil {
		cause = context.Canceled
	}
	if l.remote != nil {
		l.remote.Cancel(cause)
		return
	}
	l.session().root.life.cancel(cause)
}
