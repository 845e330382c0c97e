package stock

import (
	"context"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/postgres"
	"github.com/weftrun/weft/checkpoint/redis"
	"github.com/weftrun/weft/weftcli"
)

// stores returns the servers that --store can name, in addition to sqlite: and memory:. They are
// declared here and not in package weftcli, so that another program contains only the clients that
// it names in weftcli.Config.Stores.
func stores() map[string]weftcli.Opener {
	return map[string]weftcli.Opener{
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
