package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/jackc/pgx/v5/pgxpool"
	goredis "github.com/redis/go-redis/v9"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/postgres"
	"github.com/weftrun/weft/checkpoint/redis"
	"github.com/weftrun/weft/checkpoint/sqlite"
)

// place is where the workloads run: the stores and the other runtimes that there are.
type place struct {
	short   bool
	drivers []*driver
	stores  []ground
	missing []string // what is not there, and how to get it
	close   func()   // ends what was started
	notes   []string // versions
}

// ground is a store, with a plain write to the same server or disk for comparison.
type ground struct {
	name string
	open func(ctx context.Context) (backend, error)
	// plain returns a function that writes data under a new key, as durably as the server does, and
	// one that releases its resources.
	plain     func(ctx context.Context) (write func(ctx context.Context, data []byte) error, done func(), err error)
	plainName string
	saver     string // the name of LangGraph's saver there, "" if it has none
	address   func() string
}

// options are what a place is to have.
type options struct {
	short, plain    bool // plain is without other runtimes and servers
	redis, postgres string
	folder          string // of the drivers
}

// newPlace starts what there is to start.
func newPlace(ctx context.Context, o options) (*place, error) {
	dir, err := os.MkdirTemp("", "weft-bench")
	if err != nil {
		return nil, err
	}
	p := &place{short: o.short, stores: []ground{memory(), sqliteIn(dir)}}
	var servers []*server
	p.close = func() {
		for _, d := range p.drivers {
			d.close()
		}
		for _, s := range servers {
			s.stop()
		}
		_ = os.RemoveAll(dir)
	}
	if o.plain {
		return p, nil
	}
	for _, s := range []struct {
		name, url string
		start     func(context.Context) (*server, error)
		ground    func(url string) ground
	}{{"Redis", o.redis, startRedis, redisAt}, {"PostgreSQL", o.postgres, startPostgres, postgresAt}} {
		if s.url == "" {
			started, err := s.start(ctx)
			if err != nil {
				p.missing = append(p.missing, fmt.Sprintf("%s: %s", s.name, firstLine(err.Error())))
				continue
			}
			servers, s.url = append(servers, started), started.url
		}
		p.stores = append(p.stores, s.ground(s.url))
	}
	var missing []string
	p.drivers, missing = drivers(ctx, o.folder)
	p.missing = append(p.missing, missing...)
	return p, nil
}

// store returns the ground with this name.
func (p *place) store(name string) (ground, bool) {
	i := slices.IndexFunc(p.stores, func(g ground) bool { return g.name == name })
	if i < 0 {
		return ground{}, false
	}
	return p.stores[i], true
}

// with adds the drivers as runners of a workload.
func (p *place) with(w Workload, q request) Workload {
	for _, d := range p.drivers {
		if d.does(q) {
			w.Runners = append(w.Runners, d.runner(q))
		}
	}
	return w
}

// unique is a text that no other call gets.
func unique() string { return fmt.Sprintf("%d-%d", os.Getpid(), uniques.Add(1)) }

var uniques atomic.Int64

func memory() ground {
	return ground{
		name: "memory", saver: "memory", address: func() string { return "" }, plainName: copyingFloor,
		open: func(context.Context) (backend, error) { return new(checkpoint.Memory), nil },
		plain: func(context.Context) (func(context.Context, []byte) error, func(), error) {
			var mu sync.Mutex
			var all [][]byte
			return func(_ context.Context, data []byte) error {
				mu.Lock()
				defer mu.Unlock()
				if len(all) == 100_000 {
					all = nil // lest the memory of all samples is that of the last
				}
				all = append(all, slices.Clone(data))
				return nil
			}, func() { all = nil }, nil
		},
	}
}

func sqliteIn(dir string) ground {
	return ground{
		name: "SQLite", saver: "sqlite", address: func() string { return filepath.Join(dir, "saver"+unique()+".db") }, plainName: "a plain INSERT",
		open: func(ctx context.Context) (backend, error) {
			return sqlite.Open(ctx, filepath.Join(dir, "weft"+unique()+".db"))
		},
		plain: func(ctx context.Context) (func(context.Context, []byte) error, func(), error) {
			db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "plain"+unique()+".db")+"?_pragma=journal_mode(wal)&_pragma=synchronous(full)")
			if err != nil {
				return nil, nil, err
			}
			db.SetMaxOpenConns(1)
			insert, err := prepare(ctx, db)
			if err != nil {
				return nil, nil, errors.Join(err, db.Close())
			}
			return func(ctx context.Context, data []byte) error {
				_, err := insert.ExecContext(ctx, data)
				return err
			}, func() { _ = db.Close() }, nil
		},
	}
}

func prepare(ctx context.Context, db *sql.DB) (*sql.Stmt, error) {
	if _, err := db.ExecContext(ctx, "CREATE TABLE plain (id INTEGER PRIMARY KEY, data BLOB)"); err != nil {
		return nil, err
	}
	return db.PrepareContext(ctx, "INSERT INTO plain (data) VALUES (?)")
}

func redisAt(url string) ground {
	return ground{
		name: "Redis", plainName: "a plain SET",
		open: func(ctx context.Context) (backend, error) { return redis.OpenURL(ctx, url) },
		plain: func(context.Context) (func(context.Context, []byte) error, func(), error) {
			o, err := goredis.ParseURL(url)
			if err != nil {
				return nil, nil, err
			}
			client, prefix := goredis.NewClient(o), "weft-bench:"+unique()+":"
			var n atomic.Int64
			return func(ctx context.Context, data []byte) error {
				return client.Set(ctx, prefix+fmt.Sprint(n.Add(1)), data, 0).Err()
			}, func() { _ = client.Close() }, nil
		},
	}
}

func postgresAt(url string) ground {
	return ground{
		name: "PostgreSQL", saver: "postgres", address: func() string { return nodeURL(url) }, plainName: "a plain INSERT",
		open: func(ctx context.Context) (backend, error) { return postgres.Open(ctx, url, postgres.Config{}) },
		plain: func(ctx context.Context) (func(context.Context, []byte) error, func(), error) {
			pool, err := pgxpool.New(ctx, url)
			if err != nil {
				return nil, nil, err
			}
			if _, err := pool.Exec(ctx, "CREATE TABLE IF NOT EXISTS weft_bench_plain (id bigserial PRIMARY KEY, data bytea)"); err != nil {
				pool.Close()
				return nil, nil, err
			}
			return func(ctx context.Context, data []byte) error {
				_, err := pool.Exec(ctx, "INSERT INTO weft_bench_plain (data) VALUES ($1)", data)
				return err
			}, pool.Close, nil
		},
	}
}

// nodeURL is the address of a PostgreSQL for Node's client, which wants a host before the path.
func nodeURL(url string) string { return strings.Replace(url, "@/", "@localhost/", 1) }
