package postgres_test

import (
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/postgres"
)

// The test starts a server with dangerous settings, and compares the severities.
//
// Requirement: what was acknowledged survives the loss of power
func TestDoctor_ReportsBadSettings(t *testing.T) {
	unsafe := extraServer(t, "fsync=off", "full_page_writes=off", "autovacuum=off", "synchronous_commit=off")
	s := open(t, unsafe.dsn(), postgres.Config{})
	want := map[string]checkpoint.Severity{
		"fsync": checkpoint.Danger, "full_page_writes": checkpoint.Danger, "autovacuum": checkpoint.Warning,
		"synchronous_commit": checkpoint.Warning, "primary": checkpoint.Good, "replication": checkpoint.Note,
		"data_checksums": checkpoint.Note, "version": checkpoint.Good, "clock": checkpoint.Good,
		"max_connections": checkpoint.Good, "expired threads": checkpoint.Good,
	}
	list, err := s.Doctor(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range list {
		if severity, known := want[f.Subject]; !known {
			t.Errorf("rule: Doctor checks these settings\n got: %+v, which the test does not know", f)
		} else if f.Severity != severity {
			t.Errorf("rule: each finding has the expected severity\n got: %+v\nwant: %v", f, severity)
		}
		if f.Cost == "" || f.Value == "" || f.Severity != checkpoint.Good && f.Advice == "" {
			t.Errorf("rule: a finding has a cost and a value, and advice if it is not good\n got: %+v", f)
		}
		if i > 0 && f.Severity > list[i-1].Severity {
			t.Errorf("rule: the most severe finding comes first\n got: %v after %v", f.Severity, list[i-1].Severity)
		}
		delete(want, f.Subject)
	}
	if len(want) > 0 {
		t.Errorf("rule: Doctor checks every setting\n got: nothing about %v", want)
	}
}

// TestDoctor_CountsExpiredThreads stores threads that have expired, and compares their number.
func TestDoctor_CountsExpiredThreads(t *testing.T) {
	schema := freshSchema()
	s := open(t, cluster.dsn(), postgres.Config{Schema: schema})
	values := func() map[string]string {
		list, err := s.Doctor(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]string{}
		for _, f := range list {
			found[f.Subject] = f.Value
		}
		return found
	}
	for _, c := range []struct{ expired, want string }{{"0", "0"}, {"7", "7"}, {"1500", "1000 or more"}} {
		admin(t, cluster, "DELETE FROM "+schema+".threads", "INSERT INTO "+schema+
			".threads (thread, expires) SELECT i::text::bytea, now() - interval '1 hour' FROM generate_series(1, "+c.expired+") i")
		if got := values(); got["primary"] != "yes" || got["expired threads"] != c.want {
			t.Errorf("rule: Doctor counts expired threads, up to 1000\n got: primary %q, expired threads %q\nwant: yes, %s",
				got["primary"], got["expired threads"], c.want)
		}
	}
}
