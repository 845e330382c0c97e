package postgres_test

import (
	"errors"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/postgres"
	"github.com/weftrun/weft/checkpoint/topic"
	"github.com/weftrun/weft/checkpoint/topic/topictest"
)

func busOf(t testing.TB, dsn, schema string) topic.Bus {
	t.Helper()
	b, err := open(t, dsn, postgres.Config{Schema: schema}).Bus(t.Context(), topictest.Keep)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func testBus(t *testing.T, dsn string) {
	topictest.Run(t, func(t testing.TB) topictest.World {
		schema := freshSchema()
		return topictest.World{Bus: busOf(t, dsn, schema), Other: busOf(t, dsn, schema), Keep: topictest.Keep}
	})
}

// The other bus has a pool of its own, as another process has.
func TestBus(t *testing.T) { testBus(t, cluster.dsn()) }

func TestBus_BehindPgBouncer(t *testing.T) { testBus(t, pooler(t, cluster)) }

func TestBus_MigrateNever(t *testing.T) {
	schema := freshSchema()
	open(t, cluster.dsn(), postgres.Config{Schema: schema})
	never := open(t, cluster.dsn(), postgres.Config{Schema: schema, Migrate: postgres.MigrateNever})
	if _, err := never.Bus(t.Context(), 0); !errors.Is(err, checkpoint.ErrUnsupported) {
		t.Errorf("got %v, want ErrUnsupported", err)
	}
}
