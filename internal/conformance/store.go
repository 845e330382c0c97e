package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/memory"
	"github.com/weftrun/weft/checkpoint/postgres"
	"github.com/weftrun/weft/checkpoint/redis"
	"github.com/weftrun/weft/checkpoint/sqlite"
	"github.com/weftrun/weft/checkpoint/topic"
)

// openedStore is a store, with the memory that the graphs and the server share.
type openedStore struct {
	store checkpoint.Store
	items memory.Store
	bus   topic.Bus // nil: the store offers it
	close func() error
}

// openStore opens the store that a flag names.
func openStore(ctx context.Context, name string) (o openedStore, err error) {
	o.close = func() error { return nil }
	switch kind, path, _ := strings.Cut(name, ":"); kind {
	case "memory":
		o.store, o.items = new(checkpoint.Memory), new(memory.Map)
	case "sqlite":
		s, err := sqlite.Open(ctx, path)
		if err != nil {
			return o, err
		}
		o.store, o.close = s, s.Close
		o.items, err = s.Memory(ctx)
		return o, err
	case "redis", "rediss", "unix":
		s, err := redis.OpenURL(ctx, name)
		if err != nil {
			return o, err
		}
		o.store, o.items, o.bus, o.close = s, s.Memory(), s.Bus(0), s.Close
	case "postgres", "postgresql":
		s, err := postgres.Open(ctx, name, postgres.Config{RetryFor: time.Minute})
		if err != nil {
			return o, err
		}
		o.store, o.close = s, s.Close
		o.items, err = s.Memory(ctx)
		return o, err
	default:
		return o, fmt.Errorf("the store must be memory, sqlite:PATH, redis://… or postgres://… (got %q)", name)
	}
	return o, nil
}
