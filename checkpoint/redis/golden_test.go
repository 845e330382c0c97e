package redis_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/weftrun/weft/checkpoint/redis"
	"github.com/weftrun/weft/internal/golden"
)

// goldenStored returns what is in the keys of a store.
func goldenStored(t *testing.T, s *redis.Store) golden.Stored {
	return golden.Stored{Threads: s, Documents: documentsOf(t, s), Memory: s.Memory()}
}

// TestGolden_DumpOfAnEarlierReleaseOpens checks everything that earlier releases stored. It
// loads their dump into a server of its own.
//
// Requirement: data of an older release opens, and its threads continue
func TestGolden_DumpOfAnEarlierReleaseOpens(t *testing.T) {
	golden.Test(t, "rdb", func(t *testing.T, dump []byte) golden.Stored {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "dump.rdb"), dump, 0o600); err != nil {
			t.Fatal(err)
		}
		server, err := launch(dir)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(server.kill)
		return goldenStored(t, storeOf(t, server.client(t), redis.Config{}))
	}, writeGolden)
}

func writeGolden(t *testing.T) []byte {
	server := start(t)
	client := server.client(t)
	if err := golden.Write(t.Context(), goldenStored(t, storeOf(t, client, redis.Config{}))); err != nil {
		t.Fatal(err)
	}
	if err := client.Save(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	dump, err := os.ReadFile(filepath.Join(server.dir, "dump.rdb"))
	if err != nil {
		t.Fatal(err)
	}
	return dump
}
