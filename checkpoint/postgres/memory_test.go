package postgres_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/memory"
	"github.com/weftrun/weft/checkpoint/memory/memorytest"
	"github.com/weftrun/weft/checkpoint/postgres"
)

func TestMemory(t *testing.T) {
	memorytest.RunFull(t, func(t testing.TB) memory.Store { return openMemory(t, cluster.dsn()) })
	if !testing.Short() {
		t.Run("BehindPgBouncer", memoryBehindPgBouncer)
	}
}

func memoryBehindPgBouncer(t *testing.T) {
	dsn, _ := pooler(t, cluster)
	memorytest.RunFull(t, func(t testing.TB) memory.Store { return openMemory(t, dsn) })
}

// clocked is a memory of which the suite moves all that is written of ends.
type clocked struct {
	memory.Store
	t      testing.TB
	server *server
	schema string
}

func openMemory(t testing.TB, dsn string) memory.Store {
	schema := freshSchema()
	return clocked{memoryOf(t, open(t, dsn, postgres.Config{Schema: schema})), t, cluster, schema}
}

// Advance implements memorytest.Clock.
func (c clocked) Advance(d time.Duration) {
	admin(c.t, c.server, fmt.Sprintf("UPDATE %s.memories SET expires = expires - interval '%d us'", c.schema, d.Microseconds()))
}

func memoryOf(t testing.TB, s *postgres.Store) memory.Store {
	t.Helper()
	m, err := s.Memory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestMemory_ManyAskAtOnce(t *testing.T) {
	s := open(t, cluster.dsn("pool_max_conns=8"), postgres.Config{Schema: freshSchema()})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			m, err := s.Memory(t.Context())
			if err == nil {
				_, err = m.Put(t.Context(), []string{"users"}, fmt.Sprint(i), json.RawMessage(`1`), memory.Options{})
			}
			if err != nil {
				t.Errorf("rule: many may make the tables at once\n got: %v", err)
			}
		})
	}
	wg.Wait()
}

// TestMemory_FindsFactsByTheirIndex also has values that jsonb cannot hold, which are always read.
func TestMemory_FindsFactsByTheirIndex(t *testing.T) {
	schema := freshSchema()
	m := memoryOf(t, open(t, cluster.dsn(), postgres.Config{Schema: schema}))
	admin(t, cluster, "INSERT INTO "+schema+`.memories (ns, key, value, facts, words, created, updated, refresh, write)
		SELECT 'users', n::text::bytea, convert_to(json_build_object('n', n)::text, 'UTF8'), jsonb_build_object('n', n), '{}', now(), now(), 0, 'w'
		FROM generate_series(1, 5000) n`)
	if _, err := m.Put(t.Context(), []string{"users"}, "huge", json.RawMessage(`{"n":"\u0000"}`), memory.Options{}); err != nil {
		t.Fatal(err)
	}
	admin(t, cluster, "ANALYZE "+schema+".memories")
	text, args := postgres.ScanMemories(memory.Scan{Contains: []byte(`{"n":7}`), Limit: 10}, schema)
	plan := planOf(t, text, args...)
	for _, index := range []string{"memories_facts", "memories_without_facts"} {
		if !strings.Contains(plan, index) {
			t.Errorf("the search does not use %s:\n%s", index, plan)
		}
	}
	page, err := m.Search(t.Context(), memory.Query{Prefix: []string{"users"}, Where: memory.Filter{{Path: "n", Op: memory.Eq, Value: 7}}})
	if err != nil || len(page.Items) != 1 || page.Items[0].Key != "7" {
		t.Errorf("got %+v, %v; want the item 7", page, err)
	}
}

func TestMemory_MakesNoTablesWithoutRights(t *testing.T) {
	schema := `it's a "strange" schéma of {schema}`
	open(t, cluster.dsn(), postgres.Config{Schema: schema})
	never := open(t, cluster.dsn(), postgres.Config{Schema: schema, Migrate: postgres.MigrateNever})
	if _, err := never.Memory(t.Context()); !errors.Is(err, checkpoint.ErrUnsupported) {
		t.Errorf("rule: MigrateNever makes no tables\n got: %v\nwant: ErrUnsupported", err)
	}
	memoryOf(t, open(t, cluster.dsn(), postgres.Config{Schema: schema}))
	m := memoryOf(t, never)
	item, err := m.Put(t.Context(), []string{"users"}, "k", json.RawMessage(`"word"`), memory.Options{TTL: time.Hour, Refresh: true})
	if err != nil || item.Version == 0 {
		t.Errorf("rule: tables that are there are used\n got: %v, %v", item, err)
	}
	if _, err := m.Get(t.Context(), []string{"users"}, "k"); err != nil {
		t.Error(err)
	}
	if page, err := m.Search(t.Context(), memory.Query{Text: "word"}); err != nil || len(page.Items) != 1 {
		t.Errorf("rule: any schema will do\n got: %v, %v", page, err)
	}
}

func TestMemory_ExpiredItemsLeaveNoRows(t *testing.T) {
	schema := freshSchema()
	m := memoryOf(t, open(t, cluster.dsn(), postgres.Config{Schema: schema}))
	for i := range 20 {
		if _, err := m.Put(t.Context(), []string{"brief", fmt.Sprint(i)}, "k", json.RawMessage(`1`), memory.Options{TTL: time.Hour}); err != nil {
			t.Fatal(err)
		}
	}
	admin(t, cluster, "UPDATE "+schema+".memories SET expires = expires - interval '2 hours'")
	if _, err := m.Put(t.Context(), []string{"users"}, "k", json.RawMessage(`1`), memory.Options{}); err != nil {
		t.Fatal(err)
	}
	if n := number(t, cluster, "SELECT count(*) FROM "+schema+".memories"); n != 1 {
		t.Errorf("rule: later writes remove what has ended\n got: %d rows\nwant: 1", n)
	}
}

func TestMemory_OfAClosedStoreReturnsAnError(t *testing.T) {
	s := open(t, cluster.dsn(), postgres.Config{})
	m := memoryOf(t, s)
	s.Close()
	_, putErr := m.Put(t.Context(), []string{"users"}, "k", json.RawMessage(`1`), memory.Options{})
	_, getErr := m.Get(t.Context(), []string{"users"}, "k")
	_, searchErr := m.Search(t.Context(), memory.Query{})
	for _, err := range []error{putErr, getErr, searchErr} {
		if !errors.Is(err, checkpoint.ErrClosed) {
			t.Errorf("rule: the memory of a closed store returns ErrClosed\n got: %v\nwant: ErrClosed", err)
		}
	}
}

// TestMemory_OverConnectionsThatAreCut counts up by compare-and-set. A put that was made but
// reported as a conflict would stop it.
func TestMemory_OverConnectionsThatAreCut(t *testing.T) {
	p := newProxy(t, cluster)
	m := memoryOf(t, open(t, p.dsn(""), postgres.Config{Schema: freshSchema(), RetryFor: time.Minute}))
	p.chance.Store(10)
	version := uint64(0)
	for i := range 200 {
		item, err := m.Put(t.Context(), []string{"users"}, "k", json.RawMessage(fmt.Sprint(i)), memory.Options{If: new(version)})
		if err != nil || item.Version <= version {
			t.Fatalf("rule: a put is made once and acknowledged, however often connections break\n got: version %d, %v", item.Version, err)
		}
		version = item.Version
	}
	p.chance.Store(0)
	if p.cuts.Load() == 0 {
		t.Error("the proxy cut nothing")
	}
}
