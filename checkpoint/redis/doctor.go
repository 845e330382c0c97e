package redis

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/internal/brief"
)

// Doctor implements checkpoint.Examiner. It reads INFO, TIME and CONFIG of each master, and
// reports those that the user may not run.
func (s *Store) Doctor(ctx context.Context) ([]checkpoint.Finding, error) {
	until := time.Now().Add(s.cfg.RetryFor)
	err := s.apart(ctx, until, func(ctx context.Context) error {
		if err := s.client.Ping(ctx).Err(); !isDenied(err) {
			return err
		}
		return nil // a denial is a sign of life
	})
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var all []checkpoint.Finding
	err = s.apart(ctx, until, func(ctx context.Context) error {
		return s.eachMaster(ctx, func(ctx context.Context, c *redis.Client) error {
			n, err := examine(ctx, c)
			if err != nil {
				return fmt.Errorf("%s: %w", c.Options().Addr, err)
			}
			n.clustered = s.pipelines.cluster != nil
			mu.Lock()
			defer mu.Unlock()
			all = append(all, n.findings(c.Options().Addr)...)
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		all = append(all, checkpoint.Finding{
			Severity: checkpoint.Note, Subject: "client", Value: fmt.Sprintf("%T", s.client),
			Cost:   "a client of this type does not say which servers it uses, so nothing is said of them",
			Advice: "open a store for the doctor with a *redis.Client, a *redis.ClusterClient or a *redis.Ring",
		})
	}
	slices.SortStableFunc(all, func(a, b checkpoint.Finding) int { return int(b.Severity) - int(a.Severity) })
	return all, nil
}

// apart runs f on a goroutine of its own, for as long as ctx lasts and until a time. The context of
// f ends at that time.
func (s *Store) apart(ctx context.Context, until time.Time, f func(context.Context) error) error {
	if ctx.Err() != nil {
		return ended(ctx, false, nil)
	}
	left := time.Until(until)
	done := make(chan error, 1)
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return fmt.Errorf("%w: redis", checkpoint.ErrClosed)
	}
	s.calls.Go(func() {
		short := s.briefs.New(context.Background(), left)
		defer short.End()
		done <- f(short)
	})
	s.mu.Unlock()
	timer := s.briefs.NewTimer(left)
	defer s.briefs.StopTimer(timer)
	select {
	case err := <-done:
		if err != nil {
			return s.typed(err)
		}
		return nil
	case <-ctx.Done():
		return ended(ctx, false, nil)
	case <-timer.C:
		return s.typed(brief.ErrTimeout)
	}
}

func (s *Store) eachMaster(ctx context.Context, f func(context.Context, *redis.Client) error) error {
	switch c := s.client.(type) {
	case *redis.Client:
		return f(ctx, c)
	case *redis.ClusterClient:
		return c.ForEachMaster(ctx, f)
	case *redis.Ring:
		return c.ForEachShard(ctx, f)
	}
	return nil
}

// node is what a server reports about itself.
type node struct {
	info      map[string]string
	config    map[string]string
	denied    []denial
	clock     time.Duration // how far the server's clock is ahead
	clustered bool          // the client follows a cluster
}

// denial is a command that the server does not run, for this user or at all.
type denial struct {
	severity      checkpoint.Severity
	command, cost string
	err           error
}

// isDenied reports whether the server knows the user, and does not run a command.
func isDenied(err error) bool {
	return redis.IsPermissionError(err) || redis.HasErrorPrefix(err, "ERR unknown command")
}

// examine asks a server. What it refuses is no error: a store that may not be examined works.
func examine(ctx context.Context, c *redis.Client) (n node, err error) {
	n.config = map[string]string{}
	for _, ask := range []struct {
		denial
		do func() error
	}{
		{denial{severity: checkpoint.Note, command: "INFO", cost: "the version, persistence, memory and role of the server could not be read, so nothing is said of them"}, func() error {
			text, err := c.Info(ctx).Result()
			n.info = parseInfo(text)
			return err
		}},
		{denial{severity: checkpoint.Note, command: "CONFIG", cost: "appendfsync, save and min-replicas-to-write could not be read, so nothing is said of them"}, func() error {
			for _, name := range []string{"appendfsync", "save", "min-replicas-to-write"} {
				got, err := c.ConfigGet(ctx, name).Result()
				if err != nil {
					return err
				}
				n.config[name] = got[name]
			}
			return nil
		}},
		{denial{severity: checkpoint.Danger, command: "TIME", cost: "leases and expiry go by the server's clock, which could not be read: no run can be made"}, func() error {
			before := time.Now()
			there, err := c.Time(ctx).Result()
			half := time.Since(before) / 2
			n.clock = there.Sub(before.Add(half)).Round(time.Millisecond)
			return err
		}},
	} {
		switch ask.err = ask.do(); {
		case isDenied(ask.err):
			n.denied = append(n.denied, ask.denial)
		case ask.err != nil:
			return n, ask.err
		}
	}
	return n, nil
}

// mayRead reports whether the server ran a command.
func (n node) mayRead(command string) bool {
	return !slices.ContainsFunc(n.denied, func(d denial) bool { return d.command == command })
}

// parseInfo reads the lines "name:value" of INFO.
func parseInfo(text string) map[string]string {
	info := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			info[name] = value
		}
	}
	return info
}

// findings reads a node as a doctor would.
func (n node) findings(addr string) (list []checkpoint.Finding) {
	var looks []func() checkpoint.Finding
	if n.mayRead("INFO") {
		looks = append(looks, n.version, n.persistence, n.health, n.eviction, n.role, n.replicas, n.cluster)
	}
	if n.mayRead("TIME") {
		looks = append(looks, n.clocks)
	}
	for _, look := range looks {
		if f := look(); f.Subject != "" {
			f.Subject = addr + " " + f.Subject
			list = append(list, f)
		}
	}
	for _, d := range n.denied {
		list = append(list, checkpoint.Finding{
			Severity: d.severity, Subject: addr + " " + d.command, Value: d.err.Error(), Cost: d.cost,
			Advice: "ask the administrator of the server, or allow this user " + allow[d.command],
		})
	}
	return list
}

// allow is the right that a user needs for a command.
var allow = map[string]string{"INFO": "+info", "CONFIG": "+config|get", "TIME": "+time"}

func (n node) version() checkpoint.Finding {
	name, v := "Redis", n.info["redis_version"]
	if valkey := n.info["valkey_version"]; valkey != "" {
		name, v = "Valkey", valkey
	}
	f := checkpoint.Finding{Subject: "version", Value: name + " " + v, Cost: "known to work"}
	if olderThan(v, 6, 2) {
		f.Severity, f.Cost, f.Advice = checkpoint.Warning, "this store is tested with 6.2 and later", "upgrade the server"
	}
	return f
}

func olderThan(version string, major, minor int) bool {
	parts := strings.SplitN(version, ".", 3)
	if len(parts) < 2 {
		return true
	}
	a, _ := strconv.Atoi(parts[0])
	b, _ := strconv.Atoi(parts[1])
	return a < major || a == major && b < minor
}

func (n node) persistence() checkpoint.Finding {
	if n.info["aof_enabled"] == "1" {
		return n.fsync()
	}
	f := checkpoint.Finding{Severity: checkpoint.Warning, Subject: "appendonly", Value: "no", Cost: "a restart goes back to the last snapshot of the server (save)", Advice: "appendonly yes, and appendfsync always where no commit may be lost"}
	if save, known := n.config["save"]; known && save == "" {
		f.Severity, f.Cost = checkpoint.Danger, "a restart loses every thread: the server saves nothing"
	}
	return f
}

func (n node) fsync() checkpoint.Finding {
	f := checkpoint.Finding{Subject: "appendfsync", Value: n.config["appendfsync"]}
	switch f.Value {
	case "always":
		f.Cost = "a commit that was acknowledged is on the disk"
	case "everysec":
		f.Severity, f.Cost, f.Advice = checkpoint.Warning,
			"when the server is killed or loses power, the commits of the last one or two seconds are lost, though never half of one", "appendfsync always where no commit may be lost"
	case "no":
		f.Severity, f.Cost, f.Advice = checkpoint.Warning,
			"when the machine loses power, the commits of about the last 30 seconds are lost, though never half of one", "appendfsync always, or everysec"
	default:
		return checkpoint.Finding{}
	}
	return f
}

// health looks at what the server last tried to write.
func (n node) health() checkpoint.Finding {
	for _, name := range []string{"aof_last_write_status", "rdb_last_bgsave_status"} {
		if v := n.info[name]; v != "" && v != "ok" {
			return checkpoint.Finding{Severity: checkpoint.Danger, Subject: name, Value: v, Cost: "the server could not save its data, and may refuse writes", Advice: "look at the server's log and its disk"}
		}
	}
	return checkpoint.Finding{}
}

func (n node) eviction() checkpoint.Finding {
	policy := n.info["maxmemory_policy"]
	f := checkpoint.Finding{Subject: "maxmemory-policy", Value: policy, Cost: "a full server refuses commits with ErrFull and keeps what it has"}
	switch {
	case strings.HasPrefix(policy, "allkeys-"):
		f.Severity, f.Cost, f.Advice = checkpoint.Danger, "a full server throws whole threads away, whichever it likes", "maxmemory-policy noeviction"
	case strings.HasPrefix(policy, "volatile-"):
		f.Severity, f.Cost, f.Advice = checkpoint.Note, "a full server throws threads away that have a TTL, before it has passed", "maxmemory-policy noeviction"
	case n.info["maxmemory"] == "0":
		f.Severity, f.Value, f.Cost, f.Advice = checkpoint.Note, policy+", maxmemory 0", "the server grows until the system ends it", "set maxmemory"
	}
	return f
}

func (n node) role() checkpoint.Finding {
	if n.info["role"] != "slave" {
		return checkpoint.Finding{}
	}
	return checkpoint.Finding{Severity: checkpoint.Danger, Subject: "role", Value: "replica", Cost: "every write is refused", Advice: "connect to the master, or through Sentinel"}
}

func (n node) replicas() checkpoint.Finding {
	f := checkpoint.Finding{Subject: "replicas", Value: n.info["connected_slaves"], Cost: "a failover loses the acknowledged commits that no replica had"}
	needed := n.config["min-replicas-to-write"]
	switch {
	case f.Value == "" || n.info["role"] == "slave":
		return checkpoint.Finding{}
	case f.Value == "0":
		f.Severity, f.Cost = checkpoint.Note, "while this server is away nothing can be written or read"
	case needed == "0":
		f.Severity, f.Cost, f.Advice = checkpoint.Warning, "a failover can lose commits that were acknowledged; a run that is under way mends its thread, one that rests goes back", "min-replicas-to-write 1"
	}
	return f
}

func (n node) cluster() checkpoint.Finding {
	if n.info["cluster_enabled"] != "1" || n.clustered {
		return checkpoint.Finding{}
	}
	return checkpoint.Finding{Severity: checkpoint.Danger, Subject: "cluster_enabled", Value: "1", Cost: "this client does not follow the cluster; threads of other nodes are refused", Advice: "open the store with a cluster client, or cluster+redis://"}
}

func (n node) clocks() checkpoint.Finding {
	f := checkpoint.Finding{Subject: "clock", Value: n.clock.String(), Cost: "the clocks agree"}
	if n.clock.Abs() > time.Second {
		f.Severity, f.Cost, f.Advice = checkpoint.Note, "times in headers differ from those in the server's log; no lease and no order depends on them", "set the clocks by NTP"
	}
	return f
}
