package redis_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/checkpointtest"
	"github.com/weftrun/weft/checkpoint/redis"
)

func TestStore(t *testing.T) {
	s, _ := common(t)
	for name, client := range map[string]goredis.UniversalClient{
		"AsOpenURLMakesIt": s.quick(t),
		"AnyClient":        s.client(t),
	} {
		if testing.Short() && name == "AnyClient" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			checkpointtest.RunFull(t, func(t testing.TB) checkpoint.Store {
				_, prefix := common(t)
				return watched{storeOf(t, client, redis.Config{Prefix: prefix, RetryFor: time.Minute}), t, client, prefix} // on a busy machine too
			})
		})
	}
}

func TestStore_IsDurable(t *testing.T) {
	prefixes := map[string]string{}
	checkpointtest.RunDurable(t, func(t testing.TB, dir string) checkpoint.Store {
		s, prefix := common(t)
		if prefixes[dir] == "" {
			prefixes[dir] = prefix
		}
		return storeOf(t, s.client(t), redis.Config{Prefix: prefixes[dir]})
	})
}

func openAddress(ctx context.Context, url string) (checkpoint.Store, error) {
	return redis.OpenURL(ctx, url)
}

// Requirement: a commit is atomic and moves the head by compare-and-set
// Requirement: what was acknowledged survives the death of the process
// Requirement: many processes may use it at once
// Requirement: a worker is killed
// Requirement: two processes want one thread
func TestProcesses(t *testing.T) {
	checkpointtest.RunProcesses(t, "redis://"+start(t, "--appendonly", "yes").addr, openAddress)
}

// watched is a store whose time a test can move and whose bytes it can change: it moves
// what the server has stored of deadlines.
type watched struct {
	*redis.Store
	t      testing.TB
	client goredis.UniversalClient
	prefix string
}

func (w watched) Advance(d time.Duration) {
	w.t.Helper()
	for _, key := range w.keys() {
		if err := w.move(key, d); err != nil {
			w.t.Fatal(err)
		}
	}
}

// keys returns the keys of threads, on whichever node they are.
func (w watched) keys() (list []string) {
	w.t.Helper()
	pattern := w.prefix + ":{*"
	collect := func(ctx context.Context, c *goredis.Client) error {
		keys, err := c.Keys(ctx, pattern).Result()
		list = append(list, keys...)
		return err
	}
	var err error
	switch c := w.client.(type) {
	case *goredis.Client:
		err = collect(context.Background(), c)
	case *goredis.ClusterClient:
		for _, n := range nodes(c) {
			err = errors.Join(err, collect(context.Background(), n))
		}
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return list
}

func (w watched) move(key string, d time.Duration) error {
	const script = `
		local l, left = redis.call('HGET', KEYS[1], 'l'), redis.call('PTTL', KEYS[1])
		if l then redis.call('HSET', KEYS[1], 'l', string.format('%.0f', l - ARGV[1])) end
		if left >= 0 then redis.call('PEXPIRE', KEYS[1], string.format('%.0f', math.max(left - ARGV[1], 0))) end
		return 1`
	return w.client.Eval(context.Background(), script, []string{key}, d.Milliseconds()).Err()
}

// Values implements checkpointtest.Spoiler.
func (w watched) Values(thread string) (list []checkpointtest.Value, err error) {
	key := w.prefix + ":{" + redis.Encode(thread) + "}"
	all, err := w.client.HGetAll(context.Background(), key).Result()
	for field, data := range all {
		if kind, _, _ := strings.Cut(field, "/"); kind == "c" || kind == "b" || kind == "e" {
			list = append(list, checkpointtest.Value{Name: field, Data: []byte(data), Set: func(data []byte) error {
				return w.client.HSet(context.Background(), key, field, data).Err()
			}})
		}
	}
	return list, err
}

func (w watched) Damage(k checkpoint.Key, b checkpoint.Blob, change func([]byte) []byte) error {
	key := w.prefix + ":{" + redis.Encode(k.Thread) + "}"
	field := strings.Join([]string{"b", redis.Encode(k.Namespace), redis.Encode(b.Field), fmt.Sprint(b.Base), fmt.Sprint(b.Chunk)}, "/")
	old, err := w.client.HGet(context.Background(), key, field).Bytes()
	if err != nil && !errors.Is(err, goredis.Nil) {
		return err
	}
	if changed := change(old); changed != nil {
		return w.client.HSet(context.Background(), key, field, changed).Err()
	}
	return w.client.HDel(context.Background(), key, field).Err()
}
