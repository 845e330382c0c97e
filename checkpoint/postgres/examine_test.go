package postgres_test

import (
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/postgres"
)

func TestDoctorSeesWhatIsWrong(t *testing.T) {
	sick := extraServer(t, "fsync=off", "full_page_writes=off", "autovacuum=off", "synchronous_commit=off")
	s := open(t, sick.dsn(), postgres.Config{})
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
		if severity, known := want[f.Subject]; !known || f.Severity != severity || f.Cost == "" || f.Value == "" {
			t.Errorf("rule: Doctor knows good from bad\n got: %+v\nwant: %v", f, severity)
		}
		if f.Severity != checkpoint.Good && f.Advice == "" {
			t.Errorf("rule: what is not good comes with advice\n got: %+v", f)
		}
		if i > 0 && f.Severity > list[i-1].Severity {
			t.Errorf("rule: the gravest comes first\n got: %v after %v", f.Severity, list[i-1].Severity)
		}
		delete(want, f.Subject)
	}
	if len(want) > 0 {
		t.Errorf("rule: Doctor looks at everything\n got: nothing about %v", want)
	}
}
