package main

import (
	"context"

	"github.com/weftrun/weft"
	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/postgres"
	"github.com/weftrun/weft/checkpoint/redis"
)

// stores are the servers that --store can name beside sqlite: and memory:. They stand
// here and not in package weft, so that a program of somebody's own has in its binary
// only the clients that it names in its Config: see weft.Config.Stores.
func stores() map[string]weft.Opener {
	return map[string]weft.Opener{
		"redis": openRedis, "rediss": openRedis,
		"cluster+redis": openRedis, "cluster+rediss": openRedis,
		"sentinel+redis": openRedis, "sentinel+rediss": openRedis,
		"postgres": openPostgres, "postgresql": openPostgres,
	}
}

func openRedis(ctx context.Context, address string) (checkpoint.Store, error) {
	redis.Quiet()
	return redis.OpenURL(ctx, address)
}

func openPostgres(ctx context.Context, address string) (checkpoint.Store, error) {
	return postgres.Open(ctx, address, postgres.Config{})
}
