package postgres_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/checkpoint/document/documenttest"
	"github.com/weftrun/weft/checkpoint/postgres"
)

func TestDocuments(t *testing.T) {
	documenttest.Run(t, func(t testing.TB) document.Store {
		return documentsOf(t, open(t, cluster.dsn(), postgres.Config{Schema: freshSchema()}))
	})
	if !testing.Short() {
		t.Run("BehindPgBouncer", documentsBehindPgBouncer)
	}
}

func documentsBehindPgBouncer(t *testing.T) {
	dsn, _ := pooler(t, cluster)
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

func TestDocuments_MakeNoTableWithoutRights(t *testing.T) {
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

func TestDocuments_ClosedStore(t *testing.T) {
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

// TestDocuments_OverConnectionsThatAreCut counts up by compare-and-set. A set that was made but
// reported as a conflict would stop it.
func TestDocuments_OverConnectionsThatAreCut(t *testing.T) {
	p := newProxy(t, cluster)
	d := documentsOf(t, open(t, p.dsn(""), postgres.Config{Schema: freshSchema(), RetryFor: time.Minute}))
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

// TestDocuments_LastAreOneRoundTrip counts on the wire, and asks PostgreSQL how it would
// answer: what it finds in an index takes as long as what is asked for, not as what is there.
//
// Requirement: the last documents are one round trip
func TestDocuments_LastAreOneRoundTrip(t *testing.T) {
	p := newProxy(t, cluster)
	schema := freshSchema()
	cfg, err := pgxpool.ParseConfig(p.dsn("pool_max_conns=1"))
	if err != nil {
		t.Fatal(err)
	}
	cfg.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false }
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	store, err := postgres.New(t.Context(), pool, postgres.Config{Schema: schema, RetryFor: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	d := documentsOf(t, store)
	at := document.At("conversations", "thread")
	documenttest.Fill(t, d, at, 10_000)
	admin(t, cluster, "ANALYZE "+schema+".documents")
	last := func() {
		docs, err := d.Query(t.Context(), document.Query{Place: at, Reverse: true, Limit: new(20)})
		if err != nil || len(docs) != 20 || docs[0].ID != "9999" {
			t.Errorf("rule: the last come first\n got: %d documents, %v", len(docs), err)
		}
	}
	get := func() {
		if _, err := d.Get(t.Context(), at, "7"); err != nil {
			t.Error(err)
		}
	}
	batch := func(changes ...document.Change) func() {
		return func() {
			if _, err := d.Batch(t.Context(), document.At("conversations", "other"), changes); err != nil {
				t.Error(err)
			}
		}
	}
	value := json.RawMessage(`1`)
	for round := range 2 { // in the first round the server learns the statements
		for what, do := range map[string]func(){
			"the last 20 of 10,000": last, "a get": get, "a set": batch(document.Change{ID: "new", Value: value}),
			"a deletion": batch(document.Change{ID: "new"}),
			"a batch":    batch(document.Change{ID: "none"}, document.Change{ID: "1", Value: value, Order: "a"}, document.Change{ID: "none 2", If: new(uint64(0))}),
		} {
			if got := p.count(do); round > 0 && got != 1 {
				t.Errorf("rule: %s is one round trip\n got: %d", what, got)
			}
		}
	}
	query, args := postgres.ScanDocuments(document.Scan{Place: at, Reverse: true, Limit: 20}, schema)
	plan := planOf(t, query, args...)
	if !strings.Contains(plan, "Index Scan Backward using documents_scan") || strings.Contains(plan, "Sort") {
		t.Errorf("rule: the last are read from an index, backwards\n got: %s", plan)
	}
}

func TestDocuments_WritesWaitOnlyForTheSameDocuments(t *testing.T) {
	schema, at, value := freshSchema(), document.At("c", "p"), json.RawMessage(`1`)
	d := documentsOf(t, open(t, cluster.dsn(), postgres.Config{Schema: schema, RetryFor: time.Minute}))
	a, b := document.Change{ID: "a", Value: value, Order: "1"}, document.Change{ID: "b", Value: value, Order: "1"}
	partition, ids := postgres.DocumentLocks(schema, document.Write{Place: at, Changes: []document.Change{a}})
	conn, err := pgx.Connect(t.Context(), cluster.dsn())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "SELECT pg_advisory_xact_lock_shared($1), pg_advisory_xact_lock($2)", partition, ids[0]); err != nil {
		t.Fatal(err)
	}
	for _, c := range []document.Change{b, {ID: "b"}} {
		if _, err := d.Batch(t.Context(), at, []document.Change{c}); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
	many := []document.Change{b}
	for i := range 8 {
		many = append(many, document.Change{ID: fmt.Sprint(i), Value: value, Order: "1"})
	}
	written := make(chan error)
	waiting := 0
	for what, changes := range map[string][]document.Change{
		"the same document": {b, a}, "its deletion": {{ID: "a"}}, "a document without an Order": {b, {ID: "c", Value: value}}, "many documents": many,
	} {
		waiting++
		go func() {
			_, err := d.Batch(t.Context(), at, changes)
			if err != nil {
				err = fmt.Errorf("%s: %w", what, err)
			}
			written <- err
		}()
	}
	for n := 0; n < waiting; {
		select {
		case err := <-written:
			t.Fatalf("a write did not wait: %v", err)
		default:
		}
		const text = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND (classid::bigint << 32) | objid::bigint = ANY ($1)"
		if err := tx.QueryRow(t.Context(), text, append(ids, partition)).Scan(&n); err != nil {
			t.Fatal(err)
		}
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range waiting {
		if err := <-written; err != nil {
			t.Error(err)
		}
	}
}

// TestDocuments_OneIsFoundByItsKey asks PostgreSQL about a partition that no ANALYZE has seen, so
// that the server takes it for small.
func TestDocuments_OneIsFoundByItsKey(t *testing.T) {
	schema := freshSchema()
	store := open(t, cluster.dsn(), postgres.Config{Schema: schema})
	d := documentsOf(t, store)
	admin(t, cluster, "ALTER TABLE "+schema+".documents SET (autovacuum_enabled = false)")
	documenttest.Fill(t, d, document.At("conversations", "thread"), 1000)
	for _, end := range []string{"d.id = '7'", "d.id = ANY (ARRAY['7', '8']::bytea[])"} {
		for _, begin := range []string{"SELECT *", "DELETE"} {
			plan := planOf(t, begin+" FROM "+schema+".documents d WHERE d.collection = 'conversations' AND d.part = 'thread' AND "+end)
			if !strings.Contains(plan, "documents_pkey") {
				t.Errorf("%s: %s\n%s", begin, end, plan)
			}
		}
	}
	if plan := planOfWrite(t, schema); !strings.Contains(plan, "documents_pkey") || !strings.Contains(plan, "id = w.id))") {
		t.Errorf("a write: %s", plan)
	}
	admin(t, cluster, "ANALYZE "+schema+".documents")
	if plan := planOfWrite(t, schema); !strings.Contains(plan, "documents_pkey") || !strings.Contains(plan, "id = w.id))") {
		t.Errorf("a write after ANALYZE: %s", plan)
	}
}

// planOfWrite returns the plan that write_documents_1 keeps for finding the documents of a batch.
func planOfWrite(t *testing.T, schema string) string {
	t.Helper()
	script, err := os.ReadFile("sql/documents2.sql")
	if err != nil {
		t.Fatal(err)
	}
	_, query, _ := strings.Cut(string(script), "RETURN QUERY ")
	query, _, found := strings.Cut(query, ", fit AS (")
	if !found {
		t.Fatal("the script has no such query")
	}
	query = strings.NewReplacer("{schema}", schema, "p_ids", "$1", "p_orders", "$2", "p_versions", "$3", "p_values", "$4", "p_collection", "$5", "p_part", "$6").Replace(query)
	conn, err := pgx.Connect(t.Context(), cluster.dsn())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	results, err := conn.PgConn().Exec(t.Context(), "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; "+
		"PREPARE q (bytea[], bytea[], bigint[], bytea[], bytea, bytea) AS "+query+" SELECT * FROM current; "+
		"EXPLAIN EXECUTE q (ARRAY['7']::bytea[], ARRAY['']::bytea[], ARRAY[0], ARRAY['1']::bytea[], 'conversations', 'thread')").ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var plan strings.Builder
	for _, row := range results[len(results)-1].Rows {
		plan.Write(row[0])
		plan.WriteByte('\n')
	}
	return plan.String()
}

func planOf(t *testing.T, query string, args ...any) (plan string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), cluster.dsn())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	rows, err := conn.Query(t.Context(), "EXPLAIN "+query, args...)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}
