package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/server/queue"
	"github.com/weftrun/weft/server/wire"
)

// firing is one time of a cron. One batch moves the cron to its next time and stores the firing,
// which stays until its run has ended. So any process can create the run, and later ones find what
// is left to do.
//
// The id of the run follows from the cron and the time. Still a process that was stopped for long
// may create a second run with that id, when the first has ended and was removed. Therefore each
// run has a mark of its own, and a worker runs only the one whose mark the firing has: the first
// that was seen. A run whose firing is gone does not run.
type firing struct {
	Cron   string    `json:"cron"`
	At     time.Time `json:"at"`
	Thread string    `json:"thread"`
	// Mark is that of the only run that may run; "" if no process has seen a run yet.
	Mark string `json:"mark,omitempty"`

	run     string // the id of the run, and of the firing
	version uint64
}

// firingSpace is the name space of the ids of crons' runs.
var firingSpace = uuid.MustParse("6c0b3c53-6d8e-5f0b-9a55-3a4c2f7d1e90")

// firingWait is how long after a look at a firing whose run has not ended the next one follows.
const firingWait = time.Minute

// firingRetry is how long after a failure a firing is tried again.
const firingRetry = 5 * time.Second

// errFired is the failure of a run whose firing has had another run, or was refused.
var errFired = errors.New("server: the cron was fired before, or its firing was refused")

// firingID returns the id of the firing of a cron at a time.
func firingID(cron string, at time.Time) string {
	return uuid.NewSHA1(firingSpace, []byte(cron+"\x00"+at.UTC().Format(time.RFC3339Nano))).String()
}

func firingIn(d document.Doc) (f firing, err error) {
	err = json.Unmarshal(d.Value, &f)
	f.run, f.version = d.ID, d.Version
	return f, err
}

// change returns the change that stores the firing, to be looked at again at a time.
func (f firing) change(at time.Time) (document.Change, error) {
	value, err := encode(f)
	return document.Change{ID: f.run, Value: value, Order: document.AtTime(at), If: &f.version}, err
}

// fire fires each cron that is due, and calls attend for each firing to look at. A cron that was
// due several times while no process worked is fired once. It returns the number of crons that it
// has fired. One that fails keeps no other waiting.
func (s crons) fire(ctx context.Context, attend func(context.Context, firing) error) (fired int, err error) {
	const page = 50
	q := document.Query{Place: s.due, Until: document.AtTime(s.now().Add(time.Nanosecond)), Limit: new(page)}
	for {
		due, failure := s.docs.Query(ctx, q)
		err = errors.Join(err, failure)
		for i := 0; i < len(due) && ctx.Err() == nil; i++ {
			f, failure := firingIn(due[i])
			if failure == nil && f.Cron == "" {
				if f, failure = s.fireOne(ctx, due[i]); f.Cron != "" {
					fired++
				}
			}
			if failure == nil && f.Cron != "" {
				if failure = attend(ctx, f); failure != nil {
					failure = errors.Join(failure, ignoreConflict(s.later(ctx, f, "", firingRetry)))
				}
			}
			err = errors.Join(err, failure)
		}
		if len(due) < page || ctx.Err() != nil {
			return fired, err
		}
		q.After = new(due[len(due)-1].Position())
	}
}

// fireOne stores the firing of a cron that is due, and moves the cron to its next time. It returns
// the zero firing if another process was first, or the cron is gone.
func (s crons) fireOne(ctx context.Context, d document.Doc) (f firing, err error) {
	r, found, err := s.get(ctx, d.ID)
	if err != nil {
		return f, err
	}
	changes := []document.Change{{ID: d.ID, If: &d.Version}}
	if found && r.record.Enabled {
		next := r.record
		if err := next.plan(s.now()); err != nil {
			return f, err
		}
		if !next.NextRunDate.IsZero() {
			changes[0].Value, changes[0].Order = []byte("{}"), document.AtTime(next.NextRunDate.Time)
		}
		f.Cron, f.At = d.ID, s.now()
		if at, ok := document.TimeOf(d.Order); ok {
			f.At = at
		}
		f.run = firingID(f.Cron, f.At)
		if f.Thread = f.run; r.record.ThreadID != nil {
			f.Thread = *r.record.ThreadID
		}
		change, err := f.change(f.At)
		if err != nil {
			return firing{}, err
		}
		changes = append(changes, change)
	}
	docs, err := s.docs.Batch(ctx, s.due, changes)
	if err != nil || len(docs) < 2 {
		return firing{}, ignoreConflict(err)
	}
	f.version = docs[1].Version
	return f, nil
}

// later stores the firing with a mark, "" for the one that it has, and when to look at it again.
func (s crons) later(ctx context.Context, f firing, mark string, after time.Duration) error {
	if f.Mark == "" {
		f.Mark = mark
	}
	change, err := f.change(s.now().Add(after))
	if err == nil {
		_, err = s.docs.Set(ctx, s.due, change)
	}
	return err
}

// done removes a firing, unless another process has changed it.
func (s crons) done(ctx context.Context, f firing) error {
	_, err := s.docs.Batch(ctx, s.due, []document.Change{{ID: f.run, If: &f.version}})
	return ignoreConflict(err)
}

// claim gives the firing of a run the mark of the run. It returns errFired if the firing has that
// of another run, or is gone.
func (s crons) claim(ctx context.Context, run, mark string) error {
	for {
		d, err := s.docs.Get(ctx, s.due, run)
		if errors.Is(err, document.ErrNotFound) {
			return errFired
		}
		if err != nil {
			return err
		}
		f, err := firingIn(d)
		switch {
		case err != nil:
			return err
		case f.Mark == mark:
			return nil
		case f.Mark != "":
			return errFired
		}
		if err = s.later(ctx, f, mark, firingWait); !errors.Is(err, document.ErrConflict) {
			return err
		}
	}
}

// attend creates the run of a firing, unless it was created before, and removes a firing whose run
// has ended. An error that may pass, such as a store that is away or a server with too many runs,
// is returned, and the firing stays due.
func (s *Server) attend(ctx context.Context, f firing) error {
	r, err := s.queue.Get(ctx, f.Thread, f.run)
	unknown := errors.Is(err, queue.ErrNotFound)
	switch {
	case err == nil && !r.Status.Ended():
		spec, err := specOf(r)
		if err != nil {
			return err
		}
		return ignoreConflict(s.crons.later(ctx, f, spec.Mark, firingWait))
	case err == nil, unknown && f.Mark != "":
		return s.crons.done(ctx, f)
	case !unknown:
		return err
	}
	mark := newID()
	err = s.startFiring(ctx, f, mark)
	var fault *wire.Error
	switch {
	case err == nil:
		return ignoreConflict(s.crons.later(ctx, f, mark, firingWait))
	case errors.Is(err, queue.ErrExists): // another process was first: the next call sees the run
		return nil
	case !errors.As(err, &fault) || mayPass(fault.HTTPStatus(wire.Python)):
		return err
	}
	if _, err := s.queue.Get(ctx, f.Thread, f.run); !errors.Is(err, queue.ErrNotFound) {
		return err // another process has created the run, which may be why
	}
	s.log().WarnContext(ctx, "server: the run of a cron is refused", "cron_id", f.Cron, "error", fault)
	return s.crons.done(ctx, f)
}

// mayPass reports whether a request that was answered with a status may succeed later.
func mayPass(status int) bool {
	return status >= http.StatusInternalServerError || status == http.StatusTooManyRequests
}

// startFiring creates the run of a firing, with a mark. A cron that was removed or disabled
// meanwhile is refused.
func (s *Server) startFiring(ctx context.Context, f firing, mark string) error {
	stored, found, err := s.crons.get(ctx, f.Cron)
	r := stored.record
	if err == nil && (!found || !r.Enabled) {
		err = noCron()
	}
	if err != nil {
		return err
	}
	if !r.NextRunDate.After(f.At) {
		_, _, err := s.crons.change(ctx, f.Cron, func(r *cronRecord) error { return r.plan(s.now()) })
		if err != nil {
			return err
		}
	}
	var q runRequest
	if err := json.Unmarshal(r.Payload, &q); err != nil {
		return err
	}
	q.AssistantID, q.OnCompletion, q.run, q.mark = r.AssistantID, r.OnRunCompleted, f.run, mark
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "/", nil)
	if err != nil {
		return err
	}
	if r.ThreadID != nil {
		request.SetPathValue("thread_id", *r.ThreadID)
	}
	c := &call{Request: request, w: discard{http.Header{}}, server: s, dialect: wire.Python, who: r.Who, id: r.CronID}
	_, err = c.enqueue(q)
	return err
}
