package redis

import (
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/weftrun/weft/checkpoint/blob"
)

// BlobTable returns the blobs of a store as blobtest judges them.
func BlobTable(s *Store) blob.Table { return largeBlobs{s} }

// Encode is encode, for tests that look at the server.
func Encode(name string) string { return encode(name) }

// Client returns the client of a store.
func (s *Store) Client() redis.UniversalClient { return s.client }

// Waiting returns how many calls wait to be sent.
func (s *Store) Waiting() (n int) {
	s.pipelines.mu.Lock()
	defer s.pipelines.mu.Unlock()
	for _, l := range s.pipelines.byNode {
		l.mu.Lock()
		n += len(l.waiting)
		l.mu.Unlock()
	}
	return n
}

// RetryFor returns the Config.RetryFor that a store goes by.
func (s *Store) RetryFor() time.Duration { return s.cfg.RetryFor }
