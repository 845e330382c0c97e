package redis_test

import (
	"fmt"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/weftrun/weft/checkpoint/blob"
	"github.com/weftrun/weft/checkpoint/blob/blobtest"
	"github.com/weftrun/weft/checkpoint/redis"
)

func TestBlobs(t *testing.T) {
	blobtest.Run(t, func(t testing.TB) blob.Table {
		s, prefix := common(t)
		return redis.BlobTable(storeOf(t, s.client(t), redis.Config{Prefix: prefix}))
	})
}

func TestBlobs_OnACluster(t *testing.T) {
	nodes := startCluster(t)
	used := 0
	blobtest.Run(t, func(t testing.TB) blob.Table {
		used++
		c := goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: []string{nodes[0].addr}})
		t.Cleanup(func() { c.Close() })
		return redis.BlobTable(storeOf(t, c, redis.Config{Prefix: fmt.Sprint("cluster", used)}))
	})
}

func blobsOf(t testing.TB, s *redis.Store) *blob.Store {
	t.Helper()
	b, err := s.Blobs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return b
}
