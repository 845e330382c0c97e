package redis

import "github.com/redis/go-redis/v9"

// Encode is encode, for tests that look at the server.
func Encode(name string) string { return encode(name) }

// Client returns the client of a store.
func (s *Store) Client() redis.UniversalClient { return s.client }
