package sqlite

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/internal/sqlscan"
)

// TestDocuments_AreReadInTheOrderOfAnIndex reads SQLite's query plans. A query that uses an index
// takes time by the size of its answer, not by the size of the table.
func TestDocuments_AreReadInTheOrderOfAnIndex(t *testing.T) {
	s, err := OpenConfig(t.Context(), filepath.Join(t.TempDir(), "threads.db"), Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Documents(t.Context()); err != nil {
		t.Fatal(err)
	}
	one, all := document.At("c", "p"), document.At("c", "")
	after := &document.Position{Partition: "p", Order: "o", Seq: 7}
	for _, scan := range []document.Scan{
		{Place: one}, {Place: one, Reverse: true}, {Place: one, Reverse: true, After: after}, {Place: one, From: "a", Until: "b", After: after},
		{Place: all}, {Place: all, Reverse: true}, {Place: all, After: after}, {Place: all, Reverse: true, After: after},
	} {
		scan.Limit = 20
		where, args := sqlscan.Where(scan)
		if plan := planOf(t, s, "SELECT count(*) FROM documents d"+where, args); !strings.Contains(plan, "USING COVERING INDEX documents_order (collection=?") {
			t.Errorf("rule: a count reads an index alone\n got: %s for %+v", plan, scan)
		}
		text, args := scanDocuments(scan)
		plan := planOf(t, s, text, args)
		if !strings.Contains(plan, "USING INDEX documents_order (collection=?") || strings.Contains(plan, "TEMP B-TREE") || strings.Contains(plan, "SCAN d") {
			t.Errorf("rule: a scan reads an index in its order\n got: %s for %+v", plan, scan)
		}
		if scan.Partition != "" && !strings.Contains(plan, "part=?") {
			t.Errorf("rule: a scan of a partition reads no other\n got: %s for %+v", plan, scan)
		}
	}
}

func planOf(t *testing.T, s *Store, text string, args []any) (plan string) {
	t.Helper()
	err := s.view(t.Context(), func(v *view) error {
		rows, err := v.tx.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+text, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var id, parent, unused int
			var detail string
			if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
				return err
			}
			plan += detail + "; "
		}
		return rows.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	return plan
}
