package redis_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/checkpointtest"
	"github.com/weftrun/weft/checkpoint/redis"
)

// A real cluster of three masters.

const slots = 16384

// startCluster runs three servers and gives each a third of the slots.
func startCluster(t testing.TB) []*server {
	t.Helper()
	return startClusterOf(t, start)
}

func startClusterOf(t testing.TB, start func(t testing.TB, args ...string) *server) []*server {
	t.Helper()
	var list []*server
	for range 3 {
		list = append(list, start(t, "--cluster-enabled", "yes", "--cluster-node-timeout", "2000"))
	}
	for i, s := range list {
		add := []any{"cluster", "addslots"}
		for slot := i * slots / 3; slot < (i+1)*slots/3; slot++ {
			add = append(add, slot)
		}
		s.do(t, add...)
		s.do(t, "cluster", "set-config-epoch", i+1)
		if i > 0 {
			host, port, err := net.SplitHostPort(list[0].addr)
			if err != nil {
				t.Fatal(err)
			}
			s.do(t, "cluster", "meet", host, port)
		}
	}
	for _, s := range list {
		waitFor(t, "the cluster is whole", func() bool {
			info := parse(s.do(t, "cluster", "info").(string))
			return info["cluster_state"] == "ok" && info["cluster_known_nodes"] == "3" && info["cluster_slots_ok"] == fmt.Sprint(slots)
		})
	}
	return list
}

// parse reads the lines "name:value" of INFO.
func parse(text string) map[string]string {
	info := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			info[name] = value
		}
	}
	return info
}

// waitFor polls what another process knows.
func waitFor(t testing.TB, what string, done func() bool) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for !done() {
		if time.Now().After(deadline) {
			t.Fatalf("this did not come: %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func clusterClient(t testing.TB, servers []*server) *goredis.ClusterClient {
	t.Helper()
	o := &goredis.ClusterOptions{}
	for _, s := range servers {
		o.Addrs = append(o.Addrs, s.addr)
	}
	c := goredis.NewClusterClient(o)
	t.Cleanup(func() { c.Close() })
	return c
}

// nodes returns the masters of a cluster.
func nodes(c *goredis.ClusterClient) (list []*goredis.Client) {
	var mu sync.Mutex
	c.ForEachMaster(context.Background(), func(_ context.Context, n *goredis.Client) error {
		mu.Lock()
		defer mu.Unlock()
		list = append(list, n)
		return nil
	})
	return list
}

// TestLaunch_PortTaken gives a cluster node a port, and then a bus port, that another process took
// after it was chosen.
func TestLaunch_PortTaken(t *testing.T) {
	dir, ports := t.TempDir(), []string{}
	other := start(t)
	s, err := launchAt("", dir, func(port string) ([]string, error) {
		_, taken, err := net.SplitHostPort(other.addr)
		ports = append(ports, port)
		args := []string{"--port", port, "--bind", "127.0.0.1", "--dir", dir, "--save", ""}
		switch len(ports) {
		case 1:
			args[1] = taken
		case 2:
			args = append(args, "--cluster-enabled", "yes", "--cluster-port", taken)
		}
		return args, err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.kill)
	if len(ports) != 3 || s.addr != "127.0.0.1:"+ports[2] {
		t.Errorf("rule: a server that cannot bind is started on another port\n got: %s after %d tries\nwant: the third of %v", s.addr, len(ports), ports)
	}
}

func TestCluster(t *testing.T) {
	client := clusterClient(t, startCluster(t))
	n := 0
	checkpointtest.RunFull(t, func(t testing.TB) checkpoint.Store {
		n++
		prefix := fmt.Sprint("cluster", n)
		return watched{storeOf(t, client, redis.Config{Prefix: prefix}), t, client, prefix}
	})
}
