package postgres_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/checkpoint/document/documenttest"
	"github.com/weftrun/weft/checkpoint/postgres"
	"github.com/weftrun/weft/checkpoint/thread/threadtest"
)

func TestDocuments(t *testing.T) {
	documenttest.Run(t, func(t testing.TB) document.Store {
		return documentsOf(t, open(t, cluster.dsn(), postgres.Config{Schema: freshSchema()}))
	})
}

func TestDocumentsBehindPgBouncer(t *testing.T) {
	dsn := pooler(t, cluster)
	documenttest.Run(t, func(t testing.TB) document.Store {
		return documentsOf(t, open(t, dsn, postgres.Config{Schema: freshSchema()}))
	})
}

func BenchmarkDocuments(b *testing.B) {
	documenttest.Benchmark(b, documentsOf(b, open(b, cluster.dsn(), postgres.Config{Schema: freshSchema()})))
}

func documentsOf(t testing.TB, s *postgres.Store) document.Store {
	t.Helper()
	d, err := s.Documents(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDocumentsMakeNoTableWhereTheyMayNot(t *testing.T) {
	schema := `it's a "strange" schéma of {schema} for documents`
	open(t, cluster.dsn(), postgres.Config{Schema: schema})
	never := open(t, cluster.dsn(), postgres.Config{Schema: schema, Migrate: postgres.MigrateNever})
	if _, err := never.Documents(t.Context()); !errors.Is(err, checkpoint.ErrUnsupported) {
		t.Errorf("rule: MigrateNever makes no tables\n got: %v\nwant: ErrUnsupported", err)
	}
	documentsOf(t, open(t, cluster.dsn(), postgres.Config{Schema: schema}))
	d := documentsOf(t, never)
	if _, err := d.Set(t.Context(), document.At("c", "p"), document.Change{ID: "id", Value: json.RawMessage(`1`)}); err != nil {
		t.Errorf("rule: a table that is there is used, in any schema\n got: %v", err)
	}
}

func TestDocumentsOfAClosedStoreSaySo(t *testing.T) {
	s := open(t, cluster.dsn(), postgres.Config{})
	d, at := documentsOf(t, s), document.At("c", "p")
	s.Close()
	_, setErr := d.Set(t.Context(), at, document.Change{ID: "id", Value: json.RawMessage(`1`)})
	_, getErr := d.Get(t.Context(), at, "id")
	_, queryErr := d.Query(t.Context(), document.Query{Place: at})
	for _, err := range []error{setErr, getErr, queryErr, d.Clear(t.Context(), at)} {
		if !errors.Is(err, checkpoint.ErrClosed) {
			t.Errorf("rule: the documents of a closed store say so\n got: %v\nwant: ErrClosed", err)
		}
	}
}

// TestDocumentsOverConnectionsThatAreCut counts up by compare-and-set: a set that was made
// and not acknowledged, and then told as a conflict, would stop it.
func TestDocumentsOverConnectionsThatAreCut(t *testing.T) {
	p := newProxy(t, cluster)
	d := documentsOf(t, open(t, p.dsn(""), postgres.Config{Schema: freshSchema(), Patience: time.Minute}))
	p.chance.Store(10)
	version := uint64(0)
	for i := range 200 {
		doc, err := d.Set(t.Context(), document.At("c", "p"), document.Change{ID: "id", Value: fmt.Append(nil, i), If: new(version)})
		if err != nil || doc.Version <= version {
			t.Fatalf("rule: a set is made once and acknowledged, however often connections break\n got: version %d, %v", doc.Version, err)
		}
		version = doc.Version
	}
	p.chance.Store(0)
	if p.cuts.Load() == 0 {
		t.Error("the proxy cut nothing")
	}
}

func TestThreadRecords(t *testing.T) {
	threadtest.Run(t, func(t testing.TB) document.Store {
		return documentsOf(t, open(t, cluster.dsn(), postgres.Config{Schema: freshSchema()}))
	})
}
