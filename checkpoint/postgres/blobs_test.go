package postgres_test

import (
	"testing"

	"github.com/weftrun/weft/checkpoint/blob"
	"github.com/weftrun/weft/checkpoint/blob/blobtest"
	"github.com/weftrun/weft/checkpoint/postgres"
)

func TestBlobs(t *testing.T) {
	t.Parallel()
	blobtest.Run(t, func(t testing.TB) blob.Table {
		s := open(t, cluster.dsn(), postgres.Config{Schema: freshSchema()})
		if _, err := s.Blobs(t.Context()); err != nil {
			t.Fatal(err)
		}
		return postgres.BlobTable(s)
	})
}
