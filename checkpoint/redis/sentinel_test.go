package redis_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/redis"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
)

// startSentinel runs a sentinel that watches a master with one replica, and waits until
// it knows both and the replica has everything.
func startSentinel(t testing.TB, master, replica *server) *server {
	t.Helper()
	host, masterPort, err := net.SplitHostPort(master.addr)
	if err != nil {
		t.Fatal(err)
	}
	replica.do(t, "replicaof", host, masterPort)
	waitFor(t, "the replica has everything", func() bool {
		return parse(replica.do(t, "info", "replication").(string))["master_link_status"] == "up"
	})
	dir := t.TempDir()
	s, err := launchAt("", dir, func(port string) ([]string, error) {
		conf := filepath.Join(dir, "sentinel.conf") // which it writes to
		return []string{conf, "--sentinel"}, os.WriteFile(conf, fmt.Appendf(nil, `port %s
bind 127.0.0.1
dir %s
logfile %s
sentinel monitor weft %s %s 1
sentinel down-after-milliseconds weft 300
sentinel failover-timeout weft 5000
`, port, dir, filepath.Join(dir, "log"), host, masterPort), 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.kill)
	waitFor(t, "the sentinel knows the replica", func() bool {
		list, _ := s.do(t, "sentinel", "replicas", "weft").([]any)
		return len(list) == 1
	})
	return s
}

// TestSentinel_RunContinuesAfterAFailover kills the master under a run, and lets Sentinel promote
// the replica. Whether the replica had all that was acknowledged is not up to the store: a run
// whose newest commits were lost stores its state again. Only the lease must have come through,
// since a run that has lost that writes nothing.
func TestSentinel_RunContinuesAfterAFailover(t *testing.T) {
	master, replica := start(t), start(t)
	sentinel := startSentinel(t, master, replica)
	client := goredis.NewFailoverClient(&goredis.FailoverOptions{MasterName: "weft", SentinelAddrs: []string{sentinel.addr}})
	defer client.Close()
	store := storeOf(t, client, redis.Config{RetryFor: time.Minute})

	type thread struct {
		Log state.List[int] `json:"log"`
	}
	const steps, replicated, killed = 60, 10, 30
	b := graph.New[thread]("loop")
	b.Node("add", graph.Router(func(_ context.Context, s *thread) (graph.Command, error) {
		n := s.Log.Len() + 1
		s.Log.Append(n)
		switch n {
		case replicated:
			waitFor(t, "the replica has the thread", func() bool { return replica.do(t, "dbsize").(int64) > 0 })
		case killed:
			master.kill()
		}
		if n < steps {
			return graph.Goto("add"), nil
		}
		return graph.Goto(graph.End), nil
	}, "add", graph.End))
	b.Edge(graph.Start, "add")
	g, err := b.Compile(graph.Config{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	res, err := g.Invoke(t.Context(), thread{}, graph.RunOptions{Thread: "thread"})
	if err != nil || res.Status != graph.Done || res.State.Log.Len() != steps {
		t.Fatalf("rule: a run goes on when a replica is promoted\n got: %s, %d steps, error %v\nwant: done, %d steps", res.Status, res.State.Log.Len(), err, steps)
	}
	if role := parse(replica.do(t, "info", "replication").(string))["role"]; role != "master" {
		t.Fatalf("the replica is a %s: this was no failover", role)
	}
	next := res.Checkpoint
	for p, err := range graph.History(t.Context(), store, checkpoint.Key{Thread: "thread"}, checkpoint.Query{}) {
		if err != nil || p.Checkpoint != next || p.Parent != 0 && p.Parent != next-1 || p.Branch != 0 {
			t.Fatalf("rule: a failover forks nothing\n got: commit %d, which goes on from %d on branch %d, error %v\nwant: commit %d of one line", p.Checkpoint, p.Parent, p.Branch, err, next)
		}
		next--
	}
	if next != 0 {
		t.Errorf("rule: the chain has no gaps\n got: its oldest is %d\nwant: 1", next+1)
	}
}
