package redis

import (
	"context"
	"sync"

	"github.com/redis/go-redis/v9"
)

// What waits goes out together: while a lane's pipelines are on their way, the calls
// that come in collect for the next one.
const (
	inFlight   = 2       // pipelines of a lane at once
	batchCalls = 128     // calls in a pipeline
	batchBytes = 1 << 20 // bytes in a pipeline, unless a single call has more
)

// job is one command on its way. Its arguments belong to it alone: whoever asked may
// be gone before it is sent.
type job struct {
	cmd  *redis.Cmd
	key  string // decides the lane
	size int
	done chan struct{} // closed when cmd has its reply
}

func newJob(key string, size int, args ...any) *job {
	return &job{cmd: redis.NewCmd(context.Background(), args...), key: key, size: size, done: make(chan struct{})}
}

// lane is the way to one server.
type lane struct {
	mu      sync.Mutex
	waiting []*job
	running int
}

// add puts a job on the lane. It reports whether somebody must run it.
func (l *lane) add(j *job) (run bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = append(l.waiting, j)
	if l.running == inFlight {
		return false
	}
	l.running++
	return true
}

// withdraw takes a job back. It reports false when it was sent already.
func (l *lane) withdraw(j *job) bool {
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
func (l *lane) take() (batch []*job) {
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
	if len(l.waiting) == 0 {
		l.waiting = nil // what was sent need not be kept
	}
	return batch
}

// run sends until nothing waits.
func (l *lane) run(client redis.UniversalClient) {
	for batch := l.take(); batch != nil; batch = l.take() {
		send(client, batch)
	}
}

// send makes one round trip. The client's own timeouts bound it; no caller's context does.
func send(client redis.UniversalClient, batch []*job) {
	ctx := context.Background()
	if len(batch) == 1 {
		client.Process(ctx, batch[0].cmd) // sets the error of cmd
	} else {
		pipe := client.Pipeline()
		for _, j := range batch {
			pipe.Process(ctx, j.cmd)
		}
		pipe.Exec(ctx) // sets the error of each
	}
	for _, j := range batch {
		close(j.done)
	}
}

// lanes finds the lane of a key: one for each node of a cluster, so that a node that
// does not answer holds up only its own threads.
type lanes struct {
	cluster *redis.ClusterClient // nil if it is none
	mu      sync.Mutex
	byNode  map[string]*lane
}

func (ls *lanes) init(client redis.UniversalClient) {
	ls.cluster, _ = client.(*redis.ClusterClient)
	ls.byNode = map[string]*lane{}
}

func (ls *lanes) of(key string) *lane {
	node := ""
	if ls.cluster != nil {
		if master, err := ls.cluster.MasterForKey(context.Background(), key); err == nil {
			node = master.Options().Addr
		}
	}
	ls.mu.Lock()
	defer ls.mu.Unlock()
	l := ls.byNode[node]
	if l == nil {
		l = &lane{}
		ls.byNode[node] = l
	}
	return l
}
