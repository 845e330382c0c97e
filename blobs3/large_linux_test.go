package blobs3_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/minio/minio-go/v7"

	"github.com/weftrun/weft/blobs3"
	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/blob"
	"github.com/weftrun/weft/internal/racescale"
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

// pass runs the graph on the blobs of a server.
func pass(ctx context.Context, args []string) error {
	size, err := strconv.ParseInt(args[1], 10, 64)
	if err != nil {
		return err
	}
	client, err := clientOf(args[0])
	if err != nil {
		return err
	}
	store, err := checkpoint.WithBlobs(new(checkpoint.Memory), blob.Over(blobs3.New(client, "weft", blobs3.Config{})), checkpoint.BlobOptions{})
	if err != nil {
		return err
	}
	return storetest.PassBlob(ctx, store, size)
}

// TestLarge_Memory passes a file of 1 GiB, or of 96 MiB with -short, through a graph in another
// process, which has the blobs of a server in this process. It measures the greatest memory of that
// process, with all of its code.
func TestLarge_Memory(t *testing.T) {
	most := int64(64 << 20)
	if racescale.Raced { // the detector takes memory of its own
		most *= 2
	}
	size, s := racescale.Of(1<<30, 96<<20), serve(t)
	if err := connect(t, s).MakeBucket(t.Context(), "weft", minio.MakeBucketOptions{}); err != nil {
		t.Fatal(err)
	}
	storetest.PassBlobIn(t, passEnv, s.URL, size, most)
}
