package postgres_test

import (
	"errors"
	"strconv"
	"sync"
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

func TestBus_BehindPgBouncer(t *testing.T) {
	dsn, _ := pooler(t, cluster)
	testBus(t, dsn)
}

func TestBus_MigrateNever(t *testing.T) {
	schema := freshSchema()
	open(t, cluster.dsn(), postgres.Config{Schema: schema})
	never := open(t, cluster.dsn(), postgres.Config{Schema: schema, Migrate: postgres.MigrateNever})
	if _, err := never.Bus(t.Context(), 0); !errors.Is(err, checkpoint.ErrUnsupported) {
		t.Errorf("got %v, want ErrUnsupported", err)
	}
}

// The network cuts one message in seven. A follower gets every event, in order; an event may come
// twice if the reply to its publisher was lost.
func TestBus_CutConnections(t *testing.T) {
	p := newProxy(t, cluster)
	schema := freshSchema()
	b := busOf(t, p.dsn("pool_max_conns=4"), schema)
	const events = 40 // fewer than Keep, with the repeated ones
	p.chance.Store(150)
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		for i := range events {
			for {
				err := b.Publish(t.Context(), "a", []byte(strconv.Itoa(i)))
				if err == nil {
					break
				}
				if !errors.Is(err, checkpoint.ErrUnknownOutcome) && !errors.Is(err, checkpoint.ErrUnavailable) {
					t.Errorf("publish %d: %v", i, err)
					return
				}
			}
		}
	})
	next := 0
	for e, err := range b.Follow(t.Context(), "a", 0) {
		if err != nil {
			t.Errorf("follow: %v", err)
			break
		}
		n, err := strconv.Atoi(string(e.Data))
		if err != nil || n > next {
			t.Errorf("got %s after %d", e.Data, next-1)
			break
		}
		if next = max(next, n+1); next == events {
			break
		}
	}
	if p.cuts.Load() == 0 {
		t.Error("no connection was cut")
	}
}
