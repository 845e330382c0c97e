package verbs_test

import (
	"context"
	"fmt"
	"iter"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/checkpoint/memory"
	"github.com/weftrun/weft/checkpoint/postgres"
	"github.com/weftrun/weft/checkpoint/redis"
	"github.com/weftrun/weft/checkpoint/sqlite"
	"github.com/weftrun/weft/checkpoint/topic"
	"github.com/weftrun/weft/internal/storetest"
)

// crashStore kills its own process at the nth write: before the write reaches the
// store, or after it has returned. It reports how many writes there were to a file.
type crashStore struct {
	checkpoint.Store
	at     int64
	after  bool
	writes atomic.Int64
	count  string
}

// openCrash opens crash:N:before:PATH or crash:N:after:PATH. A redis:// or postgres:// address may
// replace PATH.
func openCrash(ctx context.Context, address string) (checkpoint.Store, error) {
	var s crashStore
	parts := strings.SplitN(strings.TrimPrefix(address, "crash:"), ":", 3)
	if _, err := fmt.Sscan(parts[0], &s.at); err != nil {
		return nil, err
	}
	s.after = parts[1] == "after"
	if !strings.Contains(parts[2], "://") {
		s.count = parts[2] + ".writes"
		parts[2] = "sqlite:" + parts[2]
	}
	store, err := openAny(ctx, parts[2])
	if err != nil {
		return nil, err
	}
	s.Store = store
	return &s, nil
}

// openCrashAll opens crash-all:N:before:PATH like openCrash. It counts the writes of documents too.
func openCrashAll(ctx context.Context, address string) (checkpoint.Store, error) {
	s, err := openCrash(ctx, "crash:"+strings.TrimPrefix(address, "crash-all:"))
	if err != nil {
		return nil, err
	}
	return crashAll{s.(*crashStore)}, nil
}

// openCrashReads opens crash-reads:N:before:PATH like openCrash. It counts the commits that are
// read as writes, for a command that writes elsewhere what it reads.
func openCrashReads(ctx context.Context, address string) (checkpoint.Store, error) {
	s, err := openCrash(ctx, "crash:"+strings.TrimPrefix(address, "crash-reads:"))
	if err != nil {
		return nil, err
	}
	return crashReads{s.(*crashStore)}, nil
}

type crashReads struct{ *crashStore }

func (s crashReads) History(ctx context.Context, k checkpoint.Key, q checkpoint.Query) iter.Seq2[checkpoint.Snapshot, error] {
	return func(yield func(checkpoint.Snapshot, error) bool) {
		for snap, err := range s.Store.History(ctx, k, q) {
			more := false
			_ = s.write(func() error { more = yield(snap, err); return nil })
			if !more {
				return
			}
		}
	}
}

// crashAll is a crashStore with documents.
type crashAll struct{ *crashStore }

// Documents returns the documents of the store.
func (s crashAll) Documents(ctx context.Context) (document.Store, error) {
	docs, err := s.Store.(interface {
		Documents(context.Context) (document.Store, error)
	}).Documents(ctx)
	return storetest.Documents(docs, s.write), err
}

// crashServed is a crashAll with all that servers need. Only the writes of a crashAll are counted.
type crashServed struct {
	crashAll
	checkpoint.Leaser
}

// openCrashServed opens crash-served:N:before:PATH like openCrashAll.
func openCrashServed(ctx context.Context, address string) (checkpoint.Store, error) {
	s, err := openCrashAll(ctx, "crash-all:"+strings.TrimPrefix(address, "crash-served:"))
	if err != nil {
		return nil, err
	}
	all := s.(crashAll)
	return crashServed{all, all.Store.(checkpoint.Leaser)}, nil
}

// Memory returns the memory of the store, whose writes are not counted.
func (s crashServed) Memory(ctx context.Context) (memory.Store, error) {
	if of, ok := s.Store.(interface{ Memory() memory.Store }); ok {
		return of.Memory(), nil
	}
	return s.Store.(interface {
		Memory(context.Context) (memory.Store, error)
	}).Memory(ctx)
}

// Bus returns the bus of the store, whose messages are not counted.
func (s crashServed) Bus(ctx context.Context, keep int) (topic.Bus, error) {
	if of, ok := s.Store.(interface{ Bus(int) topic.Bus }); ok {
		return of.Bus(keep), nil
	}
	return s.Store.(interface {
		Bus(context.Context, int) (topic.Bus, error)
	}).Bus(ctx, keep)
}

func (s *crashStore) Commit(ctx context.Context, c checkpoint.Commit) error {
	return s.write(func() error { return s.Store.Commit(ctx, c) })
}

func (s *crashStore) Put(ctx context.Context, p checkpoint.Pending) error {
	return s.write(func() error { return s.Store.Put(ctx, p) })
}

// Drop implements [checkpoint.Dropper].
func (s *crashStore) Drop(ctx context.Context, d checkpoint.Drop) error {
	return s.write(func() error { return s.Store.(checkpoint.Dropper).Drop(ctx, d) })
}

func (s *crashStore) write(do func() error) error {
	n := s.writes.Add(1)
	if n == s.at && !s.after {
		die()
	}
	err := do()
	if n == s.at && s.after {
		die()
	}
	return err
}

// Close leaves the number of writes behind.
func (s *crashStore) Close() error {
	if s.count == "" {
		return s.Store.Close()
	}
	if err := os.WriteFile(s.count, fmt.Append(nil, s.writes.Load()), 0o600); err != nil {
		return err
	}
	return s.Store.Close()
}

// die ends the process as kill -9 does.
func die() {
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	if err != nil {
		panic(err)
	}
	select {}
}

// openPanic has a bug.
func openPanic(context.Context, string) (checkpoint.Store, error) { panic("the opener has a bug") }

// openHasty opens a file, and waits for its lock no longer than a moment.
func openHasty(ctx context.Context, address string) (checkpoint.Store, error) {
	return sqlite.OpenConfig(ctx, strings.TrimPrefix(address, "hasty:"), sqlite.Config{BusyTimeout: time.Millisecond})
}

func openRedis(ctx context.Context, address string) (checkpoint.Store, error) {
	redis.Quiet()
	return redis.OpenURL(ctx, address)
}

func openPostgres(ctx context.Context, address string) (checkpoint.Store, error) {
	return postgres.Open(ctx, address, postgres.Config{RetryFor: time.Minute})
}
