//go:build unix

package verbs_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/checkpoint/postgres"
	"github.com/weftrun/weft/checkpoint/redis"
	"github.com/weftrun/weft/checkpoint/sqlite"
	"github.com/weftrun/weft/internal/servertest"
)

// keepsDocuments is what every store that lasts can do, by one signature.
type keepsDocuments interface {
	Documents(ctx context.Context) (document.Store, error)
}

var _ = []keepsDocuments{(*sqlite.Store)(nil), (*redis.Store)(nil), (*postgres.Store)(nil)}

func TestDocuments_EndedContextIsRefused(t *testing.T) {
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "threads.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r, err := redis.OpenURL(t.Context(), servertest.Redis(t))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, store := range map[string]keepsDocuments{"sqlite": s, "redis": r} {
		if _, err := store.Documents(t.Context()); err != nil {
			t.Errorf("%s: Documents returned %v", name, err)
		}
		if docs, err := store.Documents(ended); err == nil || docs != nil {
			t.Errorf("%s: with a context that has ended, Documents returned %v, %v, want an error", name, docs, err)
		}
	}
}
