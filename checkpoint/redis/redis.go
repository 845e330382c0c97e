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
	"github.com/weftrun/weft/internal/brief"
)

// Config sets how a store uses its server. OpenURL uses the zero value.
type Config struct {
	// Prefix begins every key; "" means "weft". Stores with different prefixes do not
	// see each other. It must not contain braces.
	Prefix string
	// RetryFor is the most that a call may take; 0 or less means 5 seconds. Within it a call
	// is tried again while the server cannot be reached, is loading, or is changing its
	// master. A single try gets half of it, so that a connection which died in silence is
	// replaced in time, or less if the client's own timeouts say so. What the server needs
	// longer for wants a greater one. The context of the call ends it sooner.
	//
	// A call that makes several round trips, as Delete does, has this time for all of them
	// together. A call that reads any amount has it for each page: a listing, a query, a search,
	// Clear of a whole collection. A call that waits to be sent while the server answers others is
	// not timed. With a client whose ContextTimeoutEnabled is false a call ends in time, but its
	// connection is busy until the client's own timeouts.
	RetryFor time.Duration
	// MaxBytes is the most that one commit or one Put may send; 0 means 64 MiB. A Redis
	// server refuses single values above 512 MB in any case.
	MaxBytes int
	// Unlisted keeps new threads out of the index that Threads reads. The index costs a
	// ZADD for a thread's first commit, and for every 64th.
	Unlisted bool
}

const defaultRetryFor = 5 * time.Second

// Store keeps threads in Redis. It is safe for concurrent use, by any number of
// processes.
type Store struct {
	client    redis.UniversalClient
	cfg       Config
	own       bool // the client is closed with the store
	pipelines pipelines

	nonces   atomic.Uint64
	punctual bool // the client holds commands to the deadline of their context
	address  string
	briefs   brief.Pool

	closing chan struct{} // closed by Close
	mu      sync.Mutex    // guards closed, and calls.Add against calls.Wait
	closed  bool
	calls   sync.WaitGroup // batches under way, whether or not a caller waits for them
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
	if cfg.RetryFor <= 0 {
		cfg.RetryFor = defaultRetryFor
	}
	if cfg.MaxBytes <= 0 {
		cfg.MaxBytes = 64 << 20
	}
	s := &Store{client: client, cfg: cfg, punctual: punctual(client), address: addressOf(client), closing: make(chan struct{})}
	s.nonces.Store(rand.Uint64())
	s.pipelines.init(client)
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
		dialTimeout(&o.DialTimeout, &o.DialerRetries)
		return redis.NewClusterClient(o), nil
	}
	if rest, ok := strings.CutPrefix(url, "sentinel+"); ok {
		o, err := redis.ParseFailoverURL(rest)
		if err != nil {
			return nil, err
		}
		o.ContextTimeoutEnabled, o.MaxRetries = true, -1
		dialTimeout(&o.DialTimeout, &o.DialerRetries)
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
	dialTimeout(&o.DialTimeout, &o.DialerRetries)
	return redis.NewClient(o), nil
}

// dialTimeout bounds what the client does to make a connection after the call that wanted one
// has given up, unless the URL sets other values.
func dialTimeout(timeout *time.Duration, retries *int) {
	if *timeout == 0 {
		*timeout = defaultRetryFor / 2
	}
	if *retries == 0 {
		*retries = 1
	}
}

// Close waits for the commands that are under way, and closes the client if OpenURL made it. It
// waits at most Config.RetryFor and the second for which a Bus waits in the server. Calls that come
// later return ErrClosed. Closing twice does no harm.
func (s *Store) Close() error {
	s.mu.Lock()
	again := s.closed
	s.closed = true
	if !again {
		close(s.closing)
	}
	s.mu.Unlock()
	s.waitForCalls()
	if again || !s.own {
		return nil
	}
	return s.client.Close()
}

// waitForCalls waits for the commands that are on their way. Those of a client that does not
// keep to the deadline of a context may take longer, and are then left alone.
func (s *Store) waitForCalls() {
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.calls.Wait()
	}()
	timer := s.briefs.NewTimer(s.cfg.RetryFor + busBlock)
	defer s.briefs.StopTimer(timer)
	select {
	case <-done:
	case <-timer.C:
	}
}
