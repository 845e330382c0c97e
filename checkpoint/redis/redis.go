package redis

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/weftrun/weft/checkpoint"
)

// Config says how a store uses its server. The zero value is what OpenURL uses.
type Config struct {
	// Prefix begins every key; "" means "weft". Stores with different prefixes do not
	// see each other. It must not contain braces.
	Prefix string
	// Patience is how long a call goes on trying while the server cannot be reached, is
	// loading, or is changing its master; 0 means 5 seconds. The context may end it sooner.
	Patience time.Duration
	// MaxBytes is the most that one commit or one Put may send; 0 means 64 MiB. A Redis
	// server refuses single values above 512 MB in any case.
	MaxBytes int
	// Unlisted keeps new threads out of the index that Threads reads. The index costs a
	// ZADD for a thread's first commit, and for every 64th.
	Unlisted bool
}

// Store keeps threads in Redis. It is safe for concurrent use, by any number of
// processes.
type Store struct {
	client redis.UniversalClient
	cfg    Config
	own    bool // the client is closed with the store
	lanes  lanes

	nonces   atomic.Uint64
	punctual bool // the client holds commands to the deadline of their context

	closing chan struct{} // closed by Close
	mu      sync.Mutex    // guards closed, and calls.Add against calls.Wait
	closed  bool
	calls   sync.WaitGroup // pipelines on their way, whether or not somebody waits for them
}

var (
	_ checkpoint.Store    = (*Store)(nil)
	_ checkpoint.Leaser   = (*Store)(nil)
	_ checkpoint.Dropper  = (*Store)(nil)
	_ checkpoint.Expirer  = (*Store)(nil)
	_ checkpoint.Examiner = (*Store)(nil)
)

// Open makes a store of a client for a server, a Cluster or what Sentinels watch over.
// It does not talk to the server yet. The client stays the caller's: Close leaves it open.
func Open(client redis.UniversalClient, cfg Config) (*Store, error) {
	if client == nil {
		return nil, fmt.Errorf("%w: redis: there is no client", checkpoint.ErrUnavailable)
	}
	if strings.ContainsAny(cfg.Prefix, "{}") {
		return nil, fmt.Errorf("%w: redis: the prefix %q has a brace, which decides where a cluster keeps a key", checkpoint.ErrUnavailable, cfg.Prefix)
	}
	if cfg.Prefix == "" {
		cfg.Prefix = "weft"
	}
	if cfg.Patience <= 0 {
		cfg.Patience = 5 * time.Second
	}
	if cfg.MaxBytes <= 0 {
		cfg.MaxBytes = 64 << 20
	}
	s := &Store{client: client, cfg: cfg, punctual: punctual(client), closing: make(chan struct{})}
	s.nonces.Store(rand.Uint64())
	s.lanes.init(client)
	return s, nil
}

// OpenURL makes a client and a store of it, both closed by Close, and asks the server for
// a sign of life. It knows redis://, rediss:// (TLS) and unix://, with go-redis's
// parameters, and cluster+redis:// and sentinel+redis://, for which the parameter addr
// names more nodes and master_name the master.
func OpenURL(ctx context.Context, url string) (*Store, error) {
	client, err := dial(url)
	if err != nil {
		return nil, fmt.Errorf("%w: redis: %w", checkpoint.ErrUnavailable, err)
	}
	s, err := Open(client, Config{})
	if err == nil {
		s.own = true
		_, err = s.ask(ctx, "", "ping")
	}
	if err != nil {
		client.Close()
		return nil, err
	}
	return s, nil
}

// dial reads a URL. Nothing is sent yet. Retrying is the store's own work, which knows
// what may be repeated.
func dial(url string) (redis.UniversalClient, error) {
	quiet := &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	if rest, ok := strings.CutPrefix(url, "cluster+"); ok {
		o, err := redis.ParseClusterURL(rest)
		if err != nil {
			return nil, err
		}
		o.ContextTimeoutEnabled, o.MaintNotificationsConfig = true, quiet
		return redis.NewClusterClient(o), nil
	}
	if rest, ok := strings.CutPrefix(url, "sentinel+"); ok {
		o, err := redis.ParseFailoverURL(rest)
		if err != nil {
			return nil, err
		}
		o.ContextTimeoutEnabled, o.MaxRetries = true, -1
		return redis.NewFailoverClient(o), nil
	}
	if scheme, rest, ok := strings.Cut(url, ":"); ok && !strings.HasPrefix(rest, "//") { // else it would mean the default server
		return nil, fmt.Errorf("redis: %s:// comes before the host, not %s: alone", scheme, scheme)
	}
	o, err := redis.ParseURL(url)
	if err != nil {
		return nil, err
	}
	o.ContextTimeoutEnabled, o.MaxRetries, o.MaintNotificationsConfig = true, -1, quiet
	return redis.NewClient(o), nil
}

// Close waits for the commands that are on their way, which the client's own timeouts
// bound, and closes the client if OpenURL made it. Calls that come later return ErrClosed.
// Closing twice does no harm.
func (s *Store) Close() error {
	s.mu.Lock()
	again := s.closed
	s.closed = true
	if !again {
		close(s.closing)
	}
	s.mu.Unlock()
	s.calls.Wait()
	if again || !s.own {
		return nil
	}
	return s.client.Close()
}
