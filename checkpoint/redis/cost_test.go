package redis_test

import (
	"strconv"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/weftrun/weft/checkpoint/redis"
	"github.com/weftrun/weft/internal/racescale"
	"github.com/weftrun/weft/internal/storetest"
)

// Requirement: round trips of a run and of each call
func TestRun_RoundTrips(t *testing.T) {
	s, prefix := common(t)
	p := startProxy(t, s.addr)
	client := connect(t, goredis.Options{Addr: p.addr, PoolSize: 1}) // with which the store repeats nothing that is merely slow
	storetest.Trips(t, storeOf(t, client, redis.Config{Prefix: prefix}), p.trips.Load)
}

// Requirement: a check of a budget is one round trip
func TestBudget_RoundTrips(t *testing.T) {
	s, prefix := common(t)
	p := startProxy(t, s.addr)
	client := connect(t, goredis.Options{Addr: p.addr, PoolSize: 1})
	storetest.CheckTrips(t, documentsOf(t, storeOf(t, client, redis.Config{Prefix: prefix})), p.trips.Load)
}

// TestRun_BytesDoNotGrow measures what goes to the server, and what that writes to its
// file.
//
// Requirement: the bytes of a step do not grow with the thread
func TestRun_BytesDoNotGrow(t *testing.T) {
	// Without an fsync the server never puts off what it writes, as it does for a slow disk.
	s := start(t, "--appendonly", "yes", "--appendfsync", "no", "--auto-aof-rewrite-percentage", "0")
	p := startProxy(t, s.addr)
	store := storeOf(t, connect(t, goredis.Options{Addr: p.addr, PoolSize: 1}), redis.Config{})
	storetest.Bytes(t, store, map[string]func() int64{
		"on the wire": p.up.Load,
		"in the append-only file": func() int64 {
			n, err := strconv.ParseInt(parse(s.do(t, "info", "persistence").(string))["aof_current_size"], 10, 64)
			if err != nil {
				t.Error(err)
			}
			return n
		},
	})
}

func TestRun_RoomIsBounded(t *testing.T) { storetest.Room(t, open(t)) }

// Requirement: a step allocates the same in a short and a long thread
func TestStep_CostIsFlat(t *testing.T) { storetest.Growth(t, open(t), racescale.Of(10_000, 2_000)) }
