// Package eventlog carries the events of runs to readers in other processes, through the topic of
// their thread.
//
//	log := eventlog.Log{Bus: store.Bus()}
//
//	w := log.Writer("t1", handle.ID(), 1)   // beside the run
//	for ev, err := range handle.Join(eventlog.Reader()) {
//		...
//		w.Write(ev)
//	}
//	err := w.Close(ctx)
//
//	for batch, err := range log.Follow(ctx, "t1", 0) { // in any process
//		...
//	}
//
// A thread has one log, whatever runs its steps: a call in this process, a server or an engine of
// many machines. [Batch].Position orders it: a reader that has seen a position continues after it
// in another process. A step that a crash cut off runs again and reports its events again, with a
// greater Batch.Attempt.
//
// # What an event has
//
// A log has the events of [Modes]. They are those of the run, as JSON carries them, with these
// differences. A failure of a task is a *graph.NodeError of a *graph.StoredError. A state of more
// than [MaxState] bytes is left out: read it from the store. The last event of a run, Ended, is
// not in the log: Batch.End takes its place, and the thread has the result.
//
// # What it does not do
//
// A log is bounded, as its bus is: a reader that falls behind gets a *topic.MissedError. What a
// thread has committed is in its history, not here.
package eventlog
