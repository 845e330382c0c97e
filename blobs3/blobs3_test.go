package blobs3_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/weftrun/weft/blobs3"
	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/blob"
	"github.com/weftrun/weft/checkpoint/blob/blobtest"
)

// serve starts a server with the interface of S3.
func serve(t testing.TB) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(gofakes3.New(s3mem.New()).Server())
	t.Cleanup(s.Close)
	return s
}

func connect(t testing.TB, s *httptest.Server) *minio.Client {
	t.Helper()
	client, err := clientOf(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func clientOf(url string) (*minio.Client, error) {
	return minio.New(strings.TrimPrefix(url, "http://"), &minio.Options{
		Creds: credentials.NewStaticV4("key", "secret", ""), Region: "us-east-1", MaxRetries: 2,
	})
}

func TestBlobs(t *testing.T) {
	client, used := connect(t, serve(t)), 0
	if err := client.MakeBucket(t.Context(), "weft", minio.MakeBucketOptions{}); err != nil {
		t.Fatal(err)
	}
	blobtest.Run(t, func(testing.TB) blob.Table {
		used++
		return blobs3.New(client, "weft", blobs3.Config{Prefix: fmt.Sprintf("%d/", used)})
	})
}

func TestBlobs_WithoutABucket(t *testing.T) {
	b := blob.Over(blobs3.New(connect(t, serve(t)), "none", blobs3.Config{}))
	_, err := b.Put(t.Context(), "a", strings.NewReader("content"))
	if !errors.Is(err, checkpoint.ErrUnavailable) || !strings.Contains(err.Error(), `"none"`) {
		t.Errorf("rule: the error names the bucket\n got: %v", err)
	}
}

// TestCall_ServerSilent makes each call on a server that does not reply.
func TestCall_ServerSilent(t *testing.T) {
	hold := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-hold:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(s.Close)
	t.Cleanup(func() { close(hold) })
	b := blob.Over(blobs3.New(connect(t, s), "weft", blobs3.Config{Timeout: 50 * time.Millisecond}))
	ref := blob.Ref{Hash: strings.Repeat("0", 64)}
	for name, call := range map[string]func(context.Context) error{
		"Put":   func(ctx context.Context) error { _, err := b.Put(ctx, "a", strings.NewReader("content")); return err },
		"Open":  func(ctx context.Context) error { _, err := b.Open(ctx, ref); return err },
		"Claim": func(ctx context.Context) error { return b.Claim(ctx, "a", []string{ref.Hash}) },
		"Sweep": func(ctx context.Context) error { return b.Sweep(ctx, 0) },
	} {
		if err := call(t.Context()); !errors.Is(err, checkpoint.ErrUnavailable) {
			t.Errorf("rule: a silent server is a typed error\n got: %s: %v", name, err)
		}
	}
}
