package postgres

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/weftrun/weft/checkpoint"
)

// facts is what Doctor asks the server, in one statement. The settings are those of
// the store's own connections: a role or a database may have its own.
type facts struct {
	version, fsync, pages, sync, standbys, checksums, vacuum string

	number, connections int
	recovering          bool
	replicas            int64
	now                 time.Time
	expired             int64 // threads whose rows wait to be removed; at most mostExpired are counted
}

const factsText = `
SELECT current_setting('server_version'), current_setting('fsync'), current_setting('full_page_writes'),
	current_setting('synchronous_commit'), current_setting('synchronous_standby_names'),
	current_setting('data_checksums'), current_setting('autovacuum'),
	current_setting('server_version_num')::int, current_setting('max_connections')::int, pg_is_in_recovery(),
	(SELECT count(*) FROM pg_stat_replication), clock_timestamp(),
	(SELECT count(*) FROM (SELECT FROM {schema}.threads WHERE expires <= now() LIMIT 1000) x)`

// Doctor implements checkpoint.Examiner.
func (s *Store) Doctor(ctx context.Context) ([]checkpoint.Finding, error) {
	var f facts
	var before, after time.Time
	err := s.call(ctx, false, func(ctx context.Context, conn *pgxpool.Conn) error {
		before = time.Now()
		defer func() { after = time.Now() }()
		return conn.QueryRow(ctx, s.text.facts, s.mode).Scan(&f.version, &f.fsync, &f.pages, &f.sync, &f.standbys, &f.checksums, &f.vacuum,
			&f.number, &f.connections, &f.recovering, &f.replicas, &f.now, &f.expired)
	})
	if err != nil {
		return nil, err
	}
	list := slices.Concat(f.durability(), f.upkeep(int(s.pool.Config().MaxConns)), []checkpoint.Finding{clock(f.now, before, after)})
	slices.SortStableFunc(list, func(a, b checkpoint.Finding) int { return cmp.Compare(b.Severity, a.Severity) })
	return list, nil
}

// either returns the finding that something is good, or that it is not. The Value of bad is what
// was found, whichever it is.
func either(good bool, bad checkpoint.Finding) checkpoint.Finding {
	if good {
		return checkpoint.Finding{Severity: checkpoint.Good, Subject: bad.Subject, Value: bad.Value, Cost: "it is well as it is"}
	}
	return bad
}

// role reports whether the server is the primary.
func (f facts) role() string {
	if f.recovering {
		return "no, a standby"
	}
	return "yes"
}

// mostExpired is up to how many expired threads are counted.
const mostExpired = 1000

// waiting returns the number of expired threads that still have rows.
func (f facts) waiting() string {
	if f.expired >= mostExpired {
		return fmt.Sprint(mostExpired, " or more")
	}
	return strconv.FormatInt(f.expired, 10)
}

// durability is about commits that were acknowledged.
func (f facts) durability() []checkpoint.Finding {
	return []checkpoint.Finding{
		either(f.fsync == "on", checkpoint.Finding{
			Severity: checkpoint.Danger, Subject: "fsync", Value: f.fsync,
			Cost: "when the machine stops, the whole database may be beyond repair", Advice: "fsync = on",
		}),
		either(f.pages == "on", checkpoint.Finding{
			Severity: checkpoint.Danger, Subject: "full_page_writes", Value: f.pages,
			Cost:   "when the machine stops, pages may be half written and stay so, unless the file system prevents that",
			Advice: "full_page_writes = on",
		}),
		either(f.sync != "off", checkpoint.Finding{
			Severity: checkpoint.Warning, Subject: "synchronous_commit", Value: f.sync,
			Cost:   "when the server stops, the commits of about the last second are lost although they were acknowledged; none is torn",
			Advice: "synchronous_commit = on, at least for this role: ALTER ROLE … SET synchronous_commit = on",
		}),
		either(!f.recovering, checkpoint.Finding{
			Severity: checkpoint.Danger, Subject: "primary", Value: f.role(),
			Cost: "it only reads, every commit fails", Advice: "connect to the primary, with target_session_attrs=read-write",
		}),
		f.replication(),
		either(f.checksums == "on", checkpoint.Finding{
			Severity: checkpoint.Note, Subject: "data_checksums", Value: f.checksums,
			Cost:   "a page that the disk returns changed is noticed by what is stored in it, when it is loaded, and not before",
			Advice: "pg_checksums --enable, while the server is stopped",
		}),
	}
}

// replication is about commits that a failover may lose.
func (f facts) replication() checkpoint.Finding {
	found := checkpoint.Finding{Subject: "replication", Value: fmt.Sprintf("%d standbys, synchronous_standby_names %q", f.replicas, f.standbys)}
	switch {
	case f.replicas == 0 && f.standbys == "":
		found.Severity, found.Cost = checkpoint.Note, "there is no standby: threads are as safe as this server's disk and its backups"
		found.Advice = "a standby, or backups that you have restored once"
	case f.standbys == "" || f.sync == "local" || f.sync == "off":
		found.Severity, found.Cost = checkpoint.Warning, "commits do not wait for a standby: a failover may lose the newest, and a run that goes on then is refused with a conflict"
		found.Advice = "synchronous_standby_names, with synchronous_commit = on"
	default:
		found.Severity, found.Cost = checkpoint.Good, "commits wait for a standby"
	}
	return found
}

// upkeep is about speed and room.
func (f facts) upkeep(pool int) []checkpoint.Finding {
	return []checkpoint.Finding{
		either(f.number >= 140000, checkpoint.Finding{
			Severity: checkpoint.Note, Subject: "version", Value: f.version,
			Cost: "PostgreSQL 13 gets no more repairs", Advice: "a newer major version",
		}),
		either(f.vacuum == "on", checkpoint.Finding{
			Severity: checkpoint.Warning, Subject: "autovacuum", Value: f.vacuum,
			Cost: "dead rows stay: the tables grow and every call gets slower", Advice: "autovacuum = on",
		}),
		either(2*pool <= f.connections, checkpoint.Finding{
			Severity: checkpoint.Note, Subject: "max_connections", Value: strconv.Itoa(f.connections),
			Cost:   fmt.Sprintf("one process may take %d of them", pool),
			Advice: "a smaller pool_max_conns, or PgBouncer in transaction mode",
		}),
		either(f.expired < mostExpired, checkpoint.Finding{
			Severity: checkpoint.Note, Subject: "expired threads", Value: f.waiting(),
			Cost:   "their rows still take room; each thread that starts with a TTL removes two",
			Advice: "SELECT forget_1(thread, true) FROM threads WHERE expires <= now(), in the store's schema",
		}),
	}
}

// clock compares the server's clock with this process's, around one query.
func clock(server, before, after time.Time) checkpoint.Finding {
	off := max(before.Sub(server), server.Sub(after), 0)
	return either(off < time.Second, checkpoint.Finding{
		Severity: checkpoint.Note, Subject: "clock", Value: fmt.Sprintf("%v apart", off.Round(time.Millisecond)),
		Cost:   "leases and expiry go by the server's clock alone and are not harmed; times in headers are this process's and mislead people",
		Advice: "NTP on both",
	})
}
