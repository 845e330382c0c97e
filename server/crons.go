package server

import (
	"context"
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
// are in the order in which the crons and the firings are due; a cron that is not enabled has none.
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

// schedule stores when a cron is due. Of several writers the last one need not be that of the
// record, so each goes on until the time is the one that the record has then.
func (s crons) schedule(ctx context.Context, r cronRecord) error {
	for {
		if err := s.setDue(ctx, r); err != nil {
			return err
		}
		now, found, err := s.get(ctx, r.CronID)
		if err != nil || !found || now.record.NextRunDate.Equal(r.NextRunDate.Time) {
			return err
		}
		r = now.record
	}
}

func (s crons) setDue(ctx context.Context, r cronRecord) error {
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
