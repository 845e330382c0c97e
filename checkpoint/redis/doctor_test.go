package redis_test

import (
	"context"
	"strings"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/redis"
)

// findings calls Doctor, and returns its findings by subject.
func findings(t testing.TB, client goredis.UniversalClient) map[string]checkpoint.Finding {
	t.Helper()
	list, err := storeOf(t, client, redis.Config{}).Doctor(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]checkpoint.Finding{}
	last := checkpoint.Danger
	for _, f := range list {
		if f.Severity > last {
			t.Errorf("rule: the most severe finding comes first\n got: %v after %v", f.Severity, last)
		}
		if f.Cost == "" || f.Value == "" || f.Severity > checkpoint.Note && f.Advice == "" {
			t.Errorf("rule: a finding has a value, a cost and an advice\n got: %+v", f)
		}
		last = f.Severity
		_, subject, _ := strings.Cut(f.Subject, " ")
		found[subject] = f
	}
	return found
}

func TestDoctor(t *testing.T) {
	s := start(t)
	for _, c := range []struct {
		set     [][]any
		subject string
		want    checkpoint.Severity
	}{
		{nil, "version", checkpoint.Good},
		{nil, "appendonly", checkpoint.Danger},
		{[][]any{{"save", "3600 1"}}, "appendonly", checkpoint.Warning},
		{[][]any{{"appendonly", "yes"}, {"appendfsync", "everysec"}}, "appendfsync", checkpoint.Warning},
		{[][]any{{"appendfsync", "no"}}, "appendfsync", checkpoint.Warning},
		{[][]any{{"appendfsync", "always"}}, "appendfsync", checkpoint.Good},
		{nil, "maxmemory-policy", checkpoint.Note},
		{[][]any{{"maxmemory", "100mb"}}, "maxmemory-policy", checkpoint.Good},
		{[][]any{{"maxmemory-policy", "volatile-lru"}}, "maxmemory-policy", checkpoint.Note},
		{[][]any{{"maxmemory-policy", "allkeys-lru"}}, "maxmemory-policy", checkpoint.Danger},
		{nil, "replicas", checkpoint.Note},
		{nil, "clock", checkpoint.Good},
	} {
		for _, set := range c.set {
			s.do(t, append([]any{"config", "set"}, set...)...)
		}
		f, there := findings(t, s.client(t))[c.subject]
		if !there || f.Severity != c.want {
			t.Errorf("rule: the doctor sees %s after %v\n got: %+v\nwant: %v", c.subject, c.set, f, c.want)
		}
	}
	waitFor(t, "the server has written its first file", func() bool {
		info := parse(s.do(t, "info", "persistence").(string))
		return info["aof_rewrite_in_progress"] == "0" && info["aof_rewrite_scheduled"] == "0" && info["rdb_bgsave_in_progress"] == "0"
	})
	s.do(t, "replicaof", "127.0.0.1", "1")
	if f := findings(t, s.client(t))["role"]; f.Severity != checkpoint.Danger {
		t.Errorf("rule: the doctor sees that a server is a replica\n got: %+v", f)
	}
}

func TestDoctor_WithoutRights(t *testing.T) {
	s := start(t)
	s.do(t, "acl", "setuser", "ann", "reset", "on", ">secret", "~*", "+@all", "-config")
	found := findings(t, connect(t, goredis.Options{Addr: s.addr, Username: "ann", Password: "secret"}))
	if f := found["CONFIG"]; f.Severity != checkpoint.Note || !strings.Contains(f.Value, "config") && !strings.Contains(f.Value, "CONFIG") {
		t.Errorf("rule: the doctor reports what it could not read\n got: %+v", f)
	}
	if f := found["maxmemory-policy"]; f.Value == "" {
		t.Errorf("rule: the doctor reads the settings that INFO has\n got: %+v", found)
	}
}

func TestDoctor_OfACluster(t *testing.T) {
	servers := startCluster(t)
	list, err := storeOf(t, clusterClient(t, servers), redis.Config{}).Doctor(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range servers {
		n := 0
		for _, f := range list {
			if strings.HasPrefix(f.Subject, s.addr+" ") {
				n++
			}
		}
		if n < 4 {
			t.Errorf("rule: the doctor sees every master\n got: %d findings of %s", n, s.addr)
		}
	}
	if f := findings(t, servers[0].client(t))["cluster_enabled"]; f.Severity != checkpoint.Danger {
		t.Errorf("rule: the doctor sees a client that does not follow its cluster\n got: %+v", f)
	}
}

func TestDoctor_OfAnUnknownClient(t *testing.T) {
	s, _ := common(t)
	list, err := storeOf(t, commandless{s.client(t)}, redis.Config{}).Doctor(t.Context())
	if err != nil || len(list) != 1 || list[0].Subject != "client" {
		t.Errorf("rule: the doctor reports that it cannot reach the servers\n got: %+v, error %v", list, err)
	}
}

func TestDoctor_OfNoServer(t *testing.T) {
	s, _ := common(t)
	store := storeOf(t, s.client(t), redis.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := store.Doctor(ctx)
	wantError(t, "Doctor returns if its context has ended", err, context.Canceled)
	store.Close()
	_, err = store.Doctor(t.Context())
	wantError(t, "a closed store is not examined", err, checkpoint.ErrClosed)
	noListener := storeOf(t, connect(t, goredis.Options{Addr: "127.0.0.1:1", MaxRetries: -1, DialerRetries: 1}), redis.Config{})
	_, err = noListener.Doctor(t.Context())
	wantError(t, "a server that does not answer is an error", err, checkpoint.ErrUnavailable)
}

// TestDoctor_RightsOfTheStore examines a server as the user that docs/operations.md describes: with
// the rights of a store, and with those for the doctor.
func TestDoctor_RightsOfTheStore(t *testing.T) {
	s := start(t)
	rights := []any{"+@scripting", "+@hash", "+@sortedset", "+@keyspace", "+time", "+ping"}
	s.do(t, append([]any{"acl", "setuser", "service", "reset", "on", ">secret", "~weft:*"}, rights...)...)
	client := connect(t, goredis.Options{Addr: s.addr, Username: "service", Password: "secret"})
	if err := storeOf(t, client, redis.Config{}).Commit(t.Context(), link("thread", 1, "1")); err != nil {
		t.Fatal(err)
	}
	found := findings(t, client)
	for _, command := range []string{"INFO", "CONFIG"} {
		if f := found[command]; f.Severity != checkpoint.Note || f.Advice == "" {
			t.Errorf("rule: the doctor names the command that the user may not run\n got: %+v of %s", f, command)
		}
		delete(found, command)
	}
	if f, there := found["clock"]; !there || len(found) != 1 {
		t.Errorf("rule: the doctor reports what it could read, and nothing else\n got: %+v and %v", f, found)
	}
	s.do(t, "acl", "setuser", "service", "+info", "+config|get")
	found = findings(t, client)
	if f, there := found["version"]; !there || f.Severity != checkpoint.Good || found["INFO"].Subject != "" || found["CONFIG"].Subject != "" {
		t.Errorf("rule: with the rights for the doctor all settings are read\n got: %+v", found)
	}
	s.do(t, "acl", "setuser", "service", "-time")
	if f := findings(t, client)["TIME"]; f.Severity != checkpoint.Danger {
		t.Errorf("rule: a store cannot work without the server's clock\n got: %+v", f)
	}
}
