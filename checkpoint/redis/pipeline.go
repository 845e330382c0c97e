package redis

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/weftrun/weft/internal/brief"
)

// Jobs that wait are sent together: while a pipeline's batches are under way, new calls collect for
// the next batch.
const (
	inFlight   = 2       // batches of a pipeline at once
	batchCalls = 128     // calls in a batch
	batchBytes = 1 << 20 // bytes in a batch, unless a single call has more
)

// Passing a command to another goroutine and back takes as long as the server needs for it. So a
// caller that finds its pipeline free sends its command itself, if the client honours deadlines.
// The deadline is short; after it the command is repeated through the pipeline. If a server is not
// that fast, the cost of passing does not matter.
const (
	ownDeadline = 25 * time.Millisecond // how late the end of a context may be noticed
	ownPause    = time.Second           // how long callers do not send to a slow server themselves
)

// job is one command to send. It owns its arguments, since its caller may return before it is sent.
type job struct {
	cmd      *redis.Cmd
	key      string    // decides the pipeline
	pipeline *pipeline // set when the job is put on it
	size     int
	sent     time.Time     // guarded by pipeline.mu; zero while it waits
	done     chan struct{} // closed when cmd has its reply
}

func newJob(key string, size int, args ...any) *job {
	return &job{cmd: redis.NewCmd(context.Background(), args...), key: key, size: size, done: make(chan struct{})}
}

// again returns the same job, to be sent once more.
func (j *job) again() *job { return newJob(j.key, j.size, j.cmd.Args()...) }

// pipeline sends the jobs of one server.
type pipeline struct {
	mu      sync.Mutex
	waiting []*job
	running int
	slow    time.Time // until then callers do not send themselves
	replied time.Time // when the server last sent a reply
}

// sent returns when a job was sent, the zero Time if it was not, and when the server last sent a
// reply to any.
func (l *pipeline) sent(j *job) (sent, replied time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return j.sent, l.replied
}

// hasReply reports whether an error is nil, or a reply of the server.
func hasReply(err error) bool {
	var reply redis.Error
	return err == nil || errors.As(err, &reply)
}

// add puts jobs on the pipeline. It reports whether the caller must call run.
func (l *pipeline) add(jobs ...*job) (run bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = append(l.waiting, jobs...)
	if l.running == inFlight {
		return false
	}
	l.running++
	return true
}

// claim lets a caller send a command itself, if the pipeline is free. leave must follow.
func (l *pipeline) claim() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running == inFlight || len(l.waiting) > 0 || !l.slow.IsZero() && time.Now().Before(l.slow) {
		return false
	}
	l.running++
	return true
}

// leave ends what claim began. It reports whether the caller must call run, since other jobs have
// come meanwhile.
func (l *pipeline) leave(took time.Duration, replied bool) (run bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if took >= ownDeadline {
		l.slow = time.Now().Add(ownPause)
	}
	if replied {
		l.replied = time.Now()
	}
	if len(l.waiting) > 0 {
		return true
	}
	l.running--
	return false
}

// withdraw takes a job back. It reports false when it was sent already.
func (l *pipeline) withdraw(j *job) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, w := range l.waiting {
		if w == j {
			l.waiting = append(l.waiting[:i:i], l.waiting[i+1:]...)
			return true
		}
	}
	return false
}

// take picks up what goes out together. When there is nothing, the runner leaves.
func (l *pipeline) take() (batch []*job) {
	l.mu.Lock()
	defer l.mu.Unlock()
	size, n := 0, 0
	for n < len(l.waiting) && n < batchCalls && (n == 0 || size+l.waiting[n].size <= batchBytes) {
		size += l.waiting[n].size
		n++
	}
	if n == 0 {
		l.running--
		return nil
	}
	batch, l.waiting = l.waiting[:n:n], l.waiting[n:]
	now := time.Now()
	for _, j := range batch {
		j.sent = now
	}
	if len(l.waiting) == 0 {
		l.waiting = nil // do not retain what was sent
	}
	return batch
}

// run sends until nothing waits.
func (l *pipeline) run(s *Store) {
	for batch := l.take(); batch != nil; batch = l.take() {
		if s.send(batch) {
			l.mu.Lock()
			l.replied = time.Now()
			l.mu.Unlock()
		}
		for _, j := range batch {
			close(j.done)
		}
	}
}

// send makes one round trip, and reports whether the server replied. It gets half of
// Config.RetryFor, or less if the client's own timeouts are shorter; no caller's context bounds it.
func (s *Store) send(batch []*job) (replied bool) {
	ctx := s.briefs.New(context.Background(), s.share())
	defer ctx.End()
	if len(batch) == 1 {
		s.client.Process(ctx, batch[0].cmd) // sets the error of cmd
	} else {
		pipe := s.client.Pipeline()
		for _, j := range batch {
			pipe.Process(ctx, j.cmd)
		}
		pipe.Exec(ctx) // sets the error of each
	}
	return hasReply(batch[0].cmd.Err())
}

// share is how long one try may take.
func (s *Store) share() time.Duration { return s.cfg.RetryFor / 2 }

// punctual reports whether a client holds its commands to the deadline of their context,
// and does not try again on its own after it.
func punctual(client redis.UniversalClient) bool {
	c, ok := client.(*redis.Client)
	return ok && c.Options().ContextTimeoutEnabled && c.Options().MaxRetries <= 0
}

// pipelines finds the pipeline of a key. Each node of a cluster has one, so a node that does not
// answer delays only its own threads.
type pipelines struct {
	cluster *redis.ClusterClient // nil if it is none
	known   atomic.Bool          // the client has met its cluster, so to ask for a node takes no time
	mu      sync.Mutex
	byNode  map[string]*pipeline
}

func (ls *pipelines) init(client redis.UniversalClient) {
	ls.cluster, _ = client.(*redis.ClusterClient)
	ls.byNode = map[string]*pipeline{}
}

// node returns the address of the node that has a key.
func (ls *pipelines) node(ctx context.Context, key string) (string, error) {
	master, err := ls.cluster.MasterForKey(ctx, key)
	if err != nil {
		return "", err
	}
	ls.known.Store(true)
	return master.Options().Addr, nil
}

// of returns the pipeline of a key. While the client does not know its cluster, one pipeline serves
// all keys.
func (ls *pipelines) of(key string) *pipeline {
	node := ""
	if ls.known.Load() {
		node, _ = ls.node(context.Background(), key) // what the client knows needs no trip
	}
	ls.mu.Lock()
	defer ls.mu.Unlock()
	l := ls.byNode[node]
	if l == nil {
		l = &pipeline{}
		ls.byNode[node] = l
	}
	return l
}

// meet lets the client of a cluster get to know it, for as long as ctx lasts and until a time.
// What goes wrong shows again when a command is sent.
func (s *Store) meet(ctx context.Context, key string, until time.Time) error {
	if s.pipelines.cluster == nil || s.pipelines.known.Load() {
		return nil
	}
	s.apart(ctx, until, func(ctx context.Context) error {
		_, err := s.pipelines.node(ctx, key)
		return err
	})
	switch {
	case ctx.Err() != nil:
		return ended(ctx, false, nil)
	case !time.Now().Before(until):
		return brief.ErrTimeout
	}
	return nil
}
