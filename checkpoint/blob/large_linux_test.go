package blob_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/blob"
	"github.com/weftrun/weft/checkpoint/postgres"
	"github.com/weftrun/weft/checkpoint/sqlite"
	"github.com/weftrun/weft/internal/racescale"
	"github.com/weftrun/weft/internal/servertest"
	"github.com/weftrun/weft/internal/storetest"
)

// passEnv makes the test binary the process that TestLarge_Memory measures.
const passEnv = "WEFT_TEST_LARGE_BLOB"

func TestMain(m *testing.M) {
	if args := os.Getenv(passEnv); args != "" {
		err := pass(context.Background(), strings.Split(args, " "))
		if err == nil {
			err = storetest.PrintPeak()
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestLarge_Memory passes a file of 1 GiB, or of 96 MiB with -short or the race detector, through a
// graph in another process: one node stores it, another reads it. It measures the greatest memory
// of that process, with all of its code. Redis keeps blobs in the memory of the server.
//
// Requirement: a large blob is not held in memory
func TestLarge_Memory(t *testing.T) {
	most := int64(64 << 20)
	if racescale.Raced { // the detector takes memory of its own
		most *= 2
	}
	size := racescale.Of(1<<30, 96<<20)
	for _, kind := range []string{"folder", "sqlite", "sealed", "postgres"} {
		t.Run(kind, func(t *testing.T) {
			at := t.TempDir()
			if kind == "postgres" {
				at = servertest.Postgres(t)
			}
			storetest.PassBlobIn(t, passEnv, kind+" "+at, size, most)
		})
	}
}

// pass runs the graph on a thread and blobs of a kind.
func pass(ctx context.Context, args []string) error {
	kind, dir := args[0], args[1]
	size, err := strconv.ParseInt(args[2], 10, 64)
	if err != nil {
		return err
	}
	threads, blobs := checkpoint.Store(new(checkpoint.Memory)), blob.Over(blob.Folder(dir))
	switch kind {
	case "sqlite":
		s, err := sqlite.Open(ctx, filepath.Join(dir, "threads.db"))
		if err != nil {
			return err
		}
		defer s.Close()
		threads = s
		if blobs, err = s.Blobs(ctx); err != nil {
			return err
		}
	case "postgres":
		s, err := postgres.Open(ctx, dir, postgres.Config{RetryFor: time.Minute})
		if err != nil {
			return err
		}
		defer s.Close()
		threads = s
		if blobs, err = s.Blobs(ctx); err != nil {
			return err
		}
	case "sealed":
		keys := newKeys("k")
		if threads, err = checkpoint.Sealed(threads, checkpoint.Codec{Keys: keys}); err != nil {
			return err
		}
		if blobs, err = blobs.Sealed(keys); err != nil {
			return err
		}
	}
	store, err := checkpoint.WithBlobs(threads, blobs, checkpoint.BlobOptions{})
	if err != nil {
		return err
	}
	return storetest.PassBlob(ctx, store, size)
}
