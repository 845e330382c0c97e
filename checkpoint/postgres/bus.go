package postgres

import (
	"context"
	_ "embed"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/weftrun/weft/checkpoint/topic"
)

//go:embed sql/events.sql
var eventSchema string

//go:embed sql/events2.sql
var eventSchema2 string

// Bus returns a bus in this schema, for all processes that share it. It stores the newest keep
// events of each topic, 10,000 if keep is 0. It creates its tables if they are missing, unless
// Config.Migrate forbids it. Followers in other processes get an event within 20 ms; that costs one
// query of this process in that time while there are followers. It uses no LISTEN, so it also works
// behind a pooler. The bus is usable until the Store is closed.
func (s *Store) Bus(ctx context.Context, keep int) (topic.Bus, error) {
	if err := s.ensure(ctx, "events", eventSchema); err != nil {
		return nil, err
	}
	if err := s.ensure(ctx, "append_1", eventSchema2); err != nil {
		return nil, err
	}
	return topic.Over(events{s}, keep, 0), nil
}

// events is a Store as a topic.Table.
type events struct{ *Store }

var _ topic.Table = events{}

// Append implements topic.Table, in one round trip.
func (e events) Append(ctx context.Context, name string, data []byte, keep int) error {
	if data == nil {
		data = []byte{}
	}
	return e.call(ctx, true, func(ctx context.Context, conn *pgxpool.Conn) error {
		_, err := conn.Exec(ctx, e.sql("SELECT {schema}.append_1($1, $2, $3)"), e.mode, []byte(name), data, int64(keep))
		return err
	})
}

const removeText = `WITH t AS (DELETE FROM {schema}.topics WHERE name = $1::bytea)
	DELETE FROM {schema}.events WHERE topic = $1::bytea`

// Remove implements topic.Table, in one round trip.
func (e events) Remove(ctx context.Context, name string) error {
	return e.call(ctx, true, func(ctx context.Context, conn *pgxpool.Conn) error {
		_, err := conn.Exec(ctx, e.sql(removeText), e.mode, []byte(name))
		return err
	})
}

// Last implements topic.Table.
func (e events) Last(ctx context.Context, names ...string) (last []uint64, err error) {
	all := make([][]byte, len(names))
	for i, name := range names {
		all[i] = []byte(name)
	}
	const text = `SELECT coalesce(t.last, 0) FROM unnest($1::bytea[]) WITH ORDINALITY AS n (name, i)
		LEFT JOIN {schema}.topics t ON t.name = n.name ORDER BY n.i`
	err = e.call(ctx, false, func(ctx context.Context, conn *pgxpool.Conn) error {
		last = last[:0]
		return forRows(ctx, e.Store, conn, func(rows pgx.Rows) (n int64, err error) { return n, rows.Scan(&n) }, func(n int64) bool {
			last = append(last, uint64(n))
			return true
		}, text, all)
	})
	return last, err
}

// Read implements topic.Table.
func (e events) Read(ctx context.Context, name string, after uint64, limit int) (list []topic.Event, err error) {
	err = e.call(ctx, false, func(ctx context.Context, conn *pgxpool.Conn) error {
		size := 0
		list = nil
		return forRows(ctx, e.Store, conn, scanEvent, func(one topic.Event) bool {
			list, size = append(list, one), size+len(one.Data)
			return size < topic.MaxPage
		}, "SELECT position, data FROM {schema}.events WHERE topic = $1::bytea AND position > $2::bigint ORDER BY position LIMIT $3::bigint",
			[]byte(name), int64(min(after, 1<<62)), int64(limit))
	})
	return list, err
}

func scanEvent(rows pgx.Rows) (e topic.Event, err error) {
	var position int64
	err = rows.Scan(&position, &e.Data)
	e.Position = uint64(position)
	return e, err
}
