package redis_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/memory"
	"github.com/weftrun/weft/checkpoint/memory/memorytest"
	"github.com/weftrun/weft/checkpoint/redis"
)

func TestMemory(t *testing.T) {
	memorytest.RunFull(t, func(t testing.TB) memory.Store {
		s, prefix := common(t)
		c := s.client(t)
		return clocked{storeOf(t, c, redis.Config{Prefix: prefix}).Memory(), t, c, prefix}
	})
	if !testing.Short() {
		t.Run("OnACluster", memoryOnACluster)
	}
}

func memoryOnACluster(t *testing.T) {
	nodes := startCluster(t)
	used := 0
	memorytest.Run(t, func(t testing.TB) memory.Store {
		used++
		c := goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: []string{nodes[0].addr}})
		t.Cleanup(func() { c.Close() })
		return storeOf(t, c, redis.Config{Prefix: fmt.Sprint("cluster", used)}).Memory()
	})
}

// clocked is a memory of which the suite moves all that is written of ends.
type clocked struct {
	memory.Store
	t      testing.TB
	client *goredis.Client
	prefix string
}

// Advance implements memorytest.Clock.
func (c clocked) Advance(d time.Duration) {
	ctx := context.Background()
	sets, err := c.client.Keys(ctx, c.prefix+":m:{*}:x").Result()
	if err != nil {
		c.t.Fatal(err)
	}
	for _, set := range sets {
		ends, err := c.client.ZRangeWithScores(ctx, set, 0, -1).Result()
		if err != nil {
			c.t.Fatal(err)
		}
		for _, z := range ends {
			if err := c.shift(ctx, strings.TrimSuffix(set, ":x"), z.Member.(string), d); err != nil {
				c.t.Fatal(err)
			}
		}
	}
}

// shift moves the end of one record.
func (c clocked) shift(ctx context.Context, items, key string, d time.Duration) error {
	text, err := c.client.HGet(ctx, items, key).Result()
	if err != nil {
		return err
	}
	parts := strings.SplitN(text, " ", 5)
	at, err := strconv.ParseInt(parts[3], 10, 64)
	if err != nil {
		return err
	}
	parts[3] = strconv.FormatInt(at-d.Microseconds(), 10)
	return errors.Join(c.client.HSet(ctx, items, key, strings.Join(parts, " ")).Err(),
		c.client.ZAdd(ctx, items+":x", goredis.Z{Score: float64(at - d.Microseconds()), Member: key}).Err())
}

func put(t testing.TB, m memory.Store, ns []string, ttl time.Duration) {
	t.Helper()
	if _, err := m.Put(t.Context(), ns, "k", json.RawMessage(`1`), memory.Options{TTL: ttl}); err != nil {
		t.Fatal(err)
	}
}

func TestMemory_KeysExpireWithTheirLastItem(t *testing.T) {
	s, prefix := common(t)
	m := storeOf(t, s.client(t), redis.Config{Prefix: prefix}).Memory()
	put(t, m, []string{"brief"}, time.Hour)
	put(t, m, []string{"lasting"}, 0)
	for key, want := range map[string]bool{"{brief}": true, "{brief}:k": true, "{brief}:x": true, "{lasting}": false, "{lasting}:k": false} {
		if left := s.do(t, "pttl", prefix+":m:"+key).(int64); left > 0 != want {
			t.Errorf("rule: keys expire with the last item, if all items do\n got: %s has %d ms left\nwant a limit: %v", key, left, want)
		}
	}
	put(t, m, []string{"brief"}, 0)
	if left := s.do(t, "pttl", prefix+":m:{brief}").(int64); left != -1 {
		t.Errorf("rule: an item without end keeps its keys\n got: %d ms left\nwant: -1", left)
	}
}

func TestMemory_EmptyNamespaceStaysListedForAWhile(t *testing.T) {
	s, prefix := common(t)
	m := storeOf(t, s.client(t), redis.Config{Prefix: prefix}).Memory()
	put(t, m, []string{"a"}, 0)
	if err := m.Delete(t.Context(), []string{"a"}, "k"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []int64{1, 0} {
		list, err := m.Namespaces(t.Context(), memory.NamespaceQuery{})
		if err != nil || len(list) != 0 {
			t.Errorf("rule: an empty namespace is not listed\n got: %q, %v", list, err)
		}
		if n := s.do(t, "zcard", prefix+":m:{@}"); n != want {
			t.Errorf("rule: an empty namespace leaves the list when no write can be under way\n got: %v on it\nwant: %d", n, want)
		}
		s.do(t, "hset", prefix+":m:{@}:t", "a", time.Now().Add(-3*time.Hour).Unix())
	}
}

// TestMemory_ListIsRenewedAfterALoss removes what a failover to a lagging replica loses: a new
// namespace, and that it is on the list.
//
// Requirement: a failover loses acknowledged commits
func TestMemory_ListIsRenewedAfterALoss(t *testing.T) {
	s, prefix := common(t)
	m := storeOf(t, s.client(t), redis.Config{Prefix: prefix}).Memory()
	for round := range 2 {
		if round > 0 {
			s.do(t, "del", prefix+":m:{a}", prefix+":m:{a}:k", prefix+":m:{@}", prefix+":m:{@}:t")
		}
		put(t, m, []string{"a"}, 0)
		if page, err := m.Search(t.Context(), memory.Query{}); err != nil || len(page.Items) != 1 {
			t.Errorf("rule: a search finds the item, in round %d\n got: %v, %v", round, page.Items, err)
		}
	}
}

func TestMemory_KeysOfOthersAreRefused(t *testing.T) {
	s, prefix := common(t)
	m := storeOf(t, s.client(t), redis.Config{Prefix: prefix}).Memory()
	s.do(t, "set", prefix+":m:{users}", "mine")
	_, err := m.Put(t.Context(), []string{"users"}, "k", json.RawMessage(`1`), memory.Options{})
	wantError(t, "a key of another program is left alone", err, checkpoint.ErrUnavailable, "another program")
	s.do(t, "hset", prefix+":m:{odd}", "k", "no record")
	s.do(t, "zadd", prefix+":m:{@}", 0, "odd")
	s.do(t, "zadd", prefix+":m:{odd}:k", 0, "k")
	_, err = m.Get(t.Context(), []string{"odd"}, "k")
	wantError(t, "what is no record is damage", err, checkpoint.ErrCorrupt, "odd")
	_, err = m.Search(t.Context(), memory.Query{})
	wantError(t, "what is no record is damage", err, checkpoint.ErrCorrupt, "odd")
	_, err = m.Put(t.Context(), []string{"odd"}, "k", json.RawMessage(`1`), memory.Options{})
	wantError(t, "what is no record is damage", err, checkpoint.ErrCorrupt, "odd")
}

func TestMemory_OfAClosedStoreReturnsAnError(t *testing.T) {
	s := open(t)
	m := s.Memory()
	s.Close()
	_, putErr := m.Put(t.Context(), []string{"users"}, "k", json.RawMessage(`1`), memory.Options{})
	_, getErr := m.Get(t.Context(), []string{"users"}, "k")
	_, searchErr := m.Search(t.Context(), memory.Query{})
	for _, err := range []error{putErr, getErr, searchErr} {
		wantError(t, "the memory of a closed store returns ErrClosed", err, checkpoint.ErrClosed)
	}
}

func TestMemory_LargerThanTheServerAllowsIsRefused(t *testing.T) {
	s, prefix := common(t)
	m := storeOf(t, s.client(t), redis.Config{Prefix: prefix, MaxBytes: 1000}).Memory()
	_, err := m.Put(t.Context(), []string{"users"}, "k", json.RawMessage(`"`+strings.Repeat("x", 1000)+`"`), memory.Options{})
	wantError(t, "Config.MaxBytes holds for memory", err, memory.ErrTooLarge, "MaxBytes")
}

// TestMemory_OverConnectionsThatAreCut counts up by compare-and-set. A put that was made and
// not acknowledged, and is then reported as a conflict, would stop it.
func TestMemory_OverConnectionsThatAreCut(t *testing.T) {
	s, prefix := common(t)
	for name, o := range map[string]goredis.Options{"AnyClient": {}, "AsOpenURLMakesIt": {ContextTimeoutEnabled: true, MaxRetries: -1}} {
		t.Run(name, func(t *testing.T) {
			p := startProxy(t, s.addr, func(p *proxy) { p.cut = sometimes(0.05) })
			o.Addr = p.addr
			m := storeOf(t, connect(t, o), redis.Config{Prefix: prefix + name, RetryFor: time.Minute}).Memory()
			version := uint64(0)
			for i := range 300 {
				item, err := m.Put(t.Context(), []string{"users"}, "k", json.RawMessage(fmt.Sprint(i)), memory.Options{If: new(version)})
				if err != nil || item.Version <= version {
					t.Fatalf("rule: a put is made once and acknowledged, however often connections break\n got: version %d, %v", item.Version, err)
				}
				version = item.Version
			}
			if p.cuts.Load() == 0 {
				t.Error("the proxy cut nothing")
			}
		})
	}
}

func TestMemory_WithoutAReplyHasAnUnknownOutcome(t *testing.T) {
	s, prefix := common(t)
	var cutting atomic.Bool
	p := startProxy(t, s.addr, func(p *proxy) {
		p.cut = func(reply bool, _ []byte) bool { return reply && cutting.Load() }
	})
	client := connect(t, goredis.Options{Addr: p.addr, MaxRetries: -1, PoolSize: 1, Protocol: 2, DisableIdentity: true})
	m := storeOf(t, client, redis.Config{Prefix: prefix, RetryFor: time.Second}).Memory()
	put(t, m, []string{"users"}, 0)
	cutting.Store(true)
	_, err := m.Put(t.Context(), []string{"users"}, "k", json.RawMessage(`2`), memory.Options{})
	wantError(t, "a put without a reply has an unknown outcome", err, checkpoint.ErrUnknownOutcome)
	_, err = m.Get(t.Context(), []string{"users"}, "k")
	wantError(t, "a get without a reply is only unavailable", err, checkpoint.ErrUnavailable)
	_, err = m.Put(t.Context(), []string{"others"}, "k", json.RawMessage(`2`), memory.Options{})
	wantError(t, "a namespace that cannot be listed is not written to", err, checkpoint.ErrUnavailable)
	if errors.Is(err, checkpoint.ErrUnknownOutcome) {
		t.Errorf("rule: where nothing was put, no outcome is unknown\n got: %v", err)
	}
}
