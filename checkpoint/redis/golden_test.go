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

func goldenFile(name string) string { return filepath.Join("testdata", "golden", name+".rdb") }

// TestGolden_DumpOfAnEarlierReleaseOpens checks everything that earlier releases stored. It
// loads their dump into a server of its own.
func TestGolden_DumpOfAnEarlierReleaseOpens(t *testing.T) {
	if name := golden.New(); name != "" {
		writeGolden(t, name)
		return
	}
	for _, name := range golden.Versions(t) {
		t.Run(name, func(t *testing.T) {
			dump, err := os.ReadFile(goldenFile(name))
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "dump.rdb"), dump, 0o600); err != nil {
				t.Fatal(err)
			}
			server, err := launch(dir)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(server.kill)
			goldenStored(t, storeOf(t, server.client(t), redis.Config{})).Check(t, name)
		})
	}
}

func writeGolden(t *testing.T, name string) {
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
	golden.Keep(t, goldenFile(name), dump)
}
