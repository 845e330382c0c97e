package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/server/wire"
)

// cronRecord is a cron: what clients read, and who created it.
type cronRecord struct {
	wire.Cron
	Who Identity `json:"who"`
}

// crons are the crons of a server, and when they are due. The documents of the second collection
// are in the order in which the crons are due; a cron that is not enabled has none.
type crons struct {
	records[cronRecord]
	docs document.Store
	due  document.Place
	now  func() time.Time
}

func newCrons(docs document.Store, now func() time.Time) crons {
	return crons{newRecords[cronRecord](docs, "weft.crons"), docs, document.At("weft.cronsdue", "all"), now}
}

// plan sets when the cron is due next: the zero time if it is not enabled, or has ended.
func (r *cronRecord) plan(now time.Time) error {
	zone := ""
	if r.Timezone != nil {
		zone = *r.Timezone
	}
	s, err := parseSchedule(r.Schedule, zone)
	if err != nil {
		return err
	}
	next := s.Next(now)
	if !r.Enabled || !r.EndTime.IsZero() && next.After(r.EndTime.Time) {
		next = time.Time{}
	}
	r.NextRunDate = wire.At(next)
	return nil
}

// schedule stores when a cron is due.
func (s crons) schedule(ctx context.Context, r cronRecord) error {
	if r.NextRunDate.IsZero() {
		return s.docs.Delete(ctx, s.due, r.CronID)
	}
	_, err := s.docs.Set(ctx, s.due, document.Change{
		ID: r.CronID, Value: []byte("{}"), Order: document.AtTime(r.NextRunDate.Time),
	})
	return err
}

// remove removes a cron.
func (s crons) remove(ctx context.Context, id string) error {
	if err := s.docs.Delete(ctx, s.due, id); err != nil {
		return err
	}
	return s.delete(ctx, id)
}

// fire calls start for each cron that is due, once over all processes. A cron that was due several
// times while no process worked is started once.
func (s crons) fire(ctx context.Context, start func(context.Context, cronRecord) error) (fired int, err error) {
	const most = 50
	until := document.AtTime(s.now().Add(time.Nanosecond))
	due, err := s.docs.Query(ctx, document.Query{Place: s.due, Until: until, Limit: new(most)})
	for i := 0; i < len(due) && err == nil; i++ {
		var first bool
		if first, err = s.fireOne(ctx, due[i], start); first {
			fired++
		}
	}
	return fired, err
}

// fireOne moves a cron to its next time and starts it. It returns false if another process was
// first.
func (s crons) fireOne(ctx context.Context, d document.Doc, start func(context.Context, cronRecord) error) (bool, error) {
	r, found, err := s.get(ctx, d.ID)
	if err != nil {
		return false, err
	}
	next := r.record
	if found {
		if err := next.plan(s.now()); err != nil {
			return false, err
		}
	}
	change := document.Change{ID: d.ID, If: &d.Version}
	if found && !next.NextRunDate.IsZero() {
		change.Value, change.Order = []byte("{}"), document.AtTime(next.NextRunDate.Time)
	}
	if _, err := s.docs.Batch(ctx, s.due, []document.Change{change}); err != nil {
		return false, ignoreConflict(err)
	}
	if !found {
		return false, nil // it was removed
	}
	_, _, err = s.change(ctx, d.ID, func(r *cronRecord) error {
		r.NextRunDate = next.NextRunDate
		return nil
	})
	return true, errors.Join(err, start(ctx, r.record))
}

// startCron creates the run of a cron that is due. A request that is not valid any more is logged.
func (s *Server) startCron(ctx context.Context, r cronRecord) error {
	var q runRequest
	if err := json.Unmarshal(r.Payload, &q); err != nil {
		return err
	}
	q.AssistantID, q.OnCompletion = r.AssistantID, r.OnRunCompleted
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "/", nil)
	if err != nil {
		return err
	}
	if r.ThreadID != nil {
		request.SetPathValue("thread_id", *r.ThreadID)
	}
	c := &call{Request: request, w: discard{http.Header{}}, server: s, dialect: wire.Python, who: r.Who, id: r.CronID}
	_, err = c.enqueue(q)
	var fault *wire.Error
	if errors.As(err, &fault) {
		s.log().WarnContext(ctx, "server: the run of a cron is refused", "cron_id", r.CronID, "error", fault)
		return nil
	}
	return err
}
