package redis_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/redis"
	"github.com/weftrun/weft/internal/racescale"
)

// patient is a RetryFor that no test outlives: who asks again in vain then hangs.
const patient = time.Hour

// TestErrors_ThatStay are known at once: asking again would not help.
//
// Requirement: the server refuses, or is not ready
// Requirement: ErrUnavailable: nothing was written
func TestErrors_ThatStay(t *testing.T) {
	s := start(t)
	key := "weft:{thread}"
	user := func(rules ...any) *goredis.Client {
		s.do(t, append([]any{"acl", "setuser", "ann", "reset", "on", ">secret"}, rules...)...)
		return connect(t, goredis.Options{Addr: s.addr, Username: "ann", Password: "secret", DisableIdentity: true})
	}
	for _, c := range []struct {
		what    string
		prepare func() goredis.UniversalClient
		undo    []any
		wants   string
	}{
		{"WRONGTYPE", func() goredis.UniversalClient { s.do(t, "set", key, "mine"); return s.client(t) }, []any{"del", key}, "another program"},
		{"NOPERM", func() goredis.UniversalClient { return user("~*", "+@all", "-evalsha") }, nil, "may not run"},
		{"NOPERM inside of a script", func() goredis.UniversalClient { return user("~*", "+@all", "-hset") }, nil, "may not run"},
		{"WRONGPASS", func() goredis.UniversalClient {
			return connect(t, goredis.Options{Addr: s.addr, Username: "bob", Password: "wrong"})
		}, nil, "password"},
		{"an unknown command", func() goredis.UniversalClient { return commandless{s.client(t)} }, nil, "refused"},
	} {
		store := storeOf(t, c.prepare(), redis.Config{RetryFor: patient, Unlisted: true})
		err := store.Commit(t.Context(), link("thread", 1, "id"))
		wantError(t, c.what+" is no use to repeat", err, checkpoint.ErrUnavailable, c.wants)
		if errors.Is(err, checkpoint.ErrUnknownOutcome) {
			t.Errorf("rule: after %s it is known that nothing was written\n got: %v", c.what, err)
		}
		if c.undo != nil {
			s.do(t, c.undo...)
		}
		if s.do(t, "exists", key) != int64(0) {
			t.Errorf("rule: after %s nothing is written", c.what)
		}
	}
	s.do(t, "config", "set", "requirepass", "secret")
	defer connect(t, goredis.Options{Addr: s.addr, Password: "secret"}).ConfigSet(context.Background(), "requirepass", "")
	_, err := redis.OpenURL(t.Context(), "redis://"+s.addr)
	wantError(t, "a server that wants a password is refused at once", err, checkpoint.ErrUnavailable, "password")
}

// commandless turns the script commands into one that no server knows.
type commandless struct{ goredis.UniversalClient }

func (c commandless) Process(ctx context.Context, cmd goredis.Cmder) error {
	cmd.Args()[0] = "no.such.command"
	return c.UniversalClient.Process(ctx, cmd)
}

func TestOpenURL_OfNoServer(t *testing.T) {
	for _, url := range []string{"", "http://127.0.0.1", "redis://:port", "cluster+redis://:x:y", "sentinel+http://x", "file.db", "redis:127.0.0.1", "redis:redis://127.0.0.1:1/0"} {
		_, err := redis.OpenURL(t.Context(), url)
		wantError(t, "a URL that is none of Redis is refused", err, checkpoint.ErrUnavailable)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := redis.OpenURL(ctx, "redis://127.0.0.1:1")
	wantError(t, "OpenURL with a context that has ended fails", err, context.Canceled)
	_, err = redis.Open(nil, redis.Config{})
	wantError(t, "a store needs a client", err, checkpoint.ErrUnavailable)
	_, err = redis.Open(open(t).Client(), redis.Config{Prefix: "a{b}"})
	wantError(t, "a prefix with braces would break a cluster", err, checkpoint.ErrUnavailable, "brace")
}

func TestOpenURL(t *testing.T) {
	s := start(t, "--unixsocket", t.TempDir()+"/redis.sock")
	for _, url := range []string{"redis://" + s.addr + "/1", "unix://" + s.args[len(s.args)-1] + "?db=2"} {
		store, err := redis.OpenURL(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(store.Commit(t.Context(), link("thread", 1, "id")), store.Close(), store.Close()); err != nil {
			t.Error(err)
		}
		err = store.Commit(t.Context(), link("thread", 2, "id"))
		wantError(t, "a closed store returns ErrClosed", err, checkpoint.ErrClosed)
	}
	servers := startCluster(t)
	store, err := redis.OpenURL(t.Context(), "cluster+redis://"+servers[0].addr)
	if err != nil {
		t.Fatal(err)
	}
	for n := range 20 {
		if err := store.Commit(t.Context(), link(fmt.Sprint("thread ", n), 1, "id")); err != nil {
			t.Error(err)
		}
	}
	if err := store.Close(); err != nil {
		t.Error(err)
	}
	single := storeOf(t, servers[0].client(t), redis.Config{RetryFor: patient, Unlisted: true})
	moved := 0
	for n := range 20 {
		if err := single.Commit(t.Context(), link(fmt.Sprint("thread ", n), 2, "id")); err != nil {
			wantError(t, "a client that does not follow the cluster gets a hint", err, checkpoint.ErrUnavailable, "cluster client")
			moved++
		}
	}
	if moved == 0 {
		t.Error("rule: one node does not have all threads\n got: 20 commits")
	}
}

// Requirement: ErrClosed: nothing was written
func TestClient_Closed(t *testing.T) {
	s, prefix := common(t)
	for _, client := range []*goredis.Client{s.client(t), s.quick(t)} {
		store := storeOf(t, client, redis.Config{Prefix: prefix, RetryFor: patient})
		client.Close()
		err := store.Commit(t.Context(), link("thread", 1, "id"))
		wantError(t, "a client that was closed is a closed store", err, checkpoint.ErrClosed)
	}
}

// TestCommit_KnowsThatNothingWasSent runs in simulated time, so no try is under way when RetryFor
// ends. The outcome of such a try would be unknown.
//
// Requirement: ErrUnavailable: nothing was written
func TestCommit_KnowsThatNothingWasSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refuse := func(context.Context, string, string) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
		}
		client := connect(t, goredis.Options{Addr: "127.0.0.1:1", Dialer: refuse, DialerRetries: 1, MaxRetries: -1})
		store := storeOf(t, client, redis.Config{RetryFor: time.Second})
		err := store.Commit(t.Context(), link("thread", 1, "id"))
		wantError(t, "without a server the error reports that nothing was written", err, checkpoint.ErrUnavailable, "is the server running")
		if errors.Is(err, checkpoint.ErrUnknownOutcome) {
			t.Errorf("rule: what was never sent has a known outcome\n got: %v", err)
		}
		store.Close()
		client.Close()
		time.Sleep(time.Minute) // simulated: the client looks once a second whether it is closed
	})
}

// Requirement: the server refuses, or is not ready
func TestScripts_ForgottenByTheServer(t *testing.T) {
	s := start(t)
	store := storeOf(t, s.client(t), redis.Config{})
	flush := s.client(t)
	for seq := range uint64(200) {
		if err := flush.ScriptFlush(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		if err := store.Commit(t.Context(), link("thread", seq+1, fmt.Sprint(seq))); err != nil {
			t.Fatalf("rule: a server that forgot the scripts gets them again\n got: %v", err)
		}
		if err := flush.ScriptFlush(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		if _, err := store.Load(t.Context(), checkpoint.Key{Thread: "thread"}, 0); err != nil {
			t.Fatalf("rule: a server that forgot the scripts gets them again\n got: %v", err)
		}
	}
	checkChain(t, store, "thread", 200)
}

// scriptsRun returns the server's statistics of scripts. Versions differ in how they count an error
// in a script.
func (s *server) scriptsRun(t testing.TB) string {
	t.Helper()
	stats := parse(s.do(t, "info", "commandstats").(string))
	return stats["cmdstat_eval"] + " " + stats["cmdstat_evalsha"]
}

// TestRetry_WaitsForAReplica lets a master become a replica and back, as in a failover.
//
// Requirement: the server refuses, or is not ready
func TestRetry_WaitsForAReplica(t *testing.T) {
	s := start(t)
	store := storeOf(t, s.client(t), redis.Config{RetryFor: 2 * time.Second})
	if err := store.Commit(t.Context(), link("thread", 1, "first")); err != nil {
		t.Fatal(err)
	}
	s.do(t, "replicaof", "127.0.0.1", "1")
	err := store.Commit(t.Context(), link("thread", 2, "second"))
	wantError(t, "a replica is not written to", err, checkpoint.ErrUnavailable, "replica")
	waiting := storeOf(t, s.client(t), redis.Config{RetryFor: patient})
	done := make(chan error, 1)
	before := s.scriptsRun(t)
	go func() { done <- waiting.Commit(t.Context(), link("thread", 2, "second")) }()
	waitFor(t, "the replica, which refuses, is asked", func() bool { return s.scriptsRun(t) != before })
	s.do(t, "replicaof", "no", "one")
	if err := <-done; err != nil {
		t.Errorf("rule: a commit waits for the new master\n got: %v", err)
	}
	checkChain(t, store, "thread", 2)
}

// TestRetry_WaitsForALoadingServer restarts a server that reads its data slowly. It answers while
// it does once for every 2 MiB.
//
// Requirement: the server refuses, or is not ready
func TestRetry_WaitsForALoadingServer(t *testing.T) {
	s := start(t, "--key-load-delay", "2000", "--rdbcompression", "no")
	store := storeOf(t, s.client(t), redis.Config{RetryFor: patient})
	if err := store.Commit(t.Context(), link("thread", 1, "id")); err != nil {
		t.Fatal(err)
	}
	for n := range 400 {
		c := link(fmt.Sprint("thread ", n), 1, "id")
		c.Blobs[0].Data = make([]byte, 64<<10)
		if err := store.Commit(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	s.do(t, "save")
	s.kill()
	if err := s.begin(); err != nil {
		t.Fatal(err)
	}
	if err := s.ready("LOADING"); err != nil {
		t.Fatal(err)
	}
	if err := store.Commit(t.Context(), link("thread", 2, "second")); err != nil {
		t.Errorf("rule: a server that still loads is waited for\n got: %v", err)
	}
	checkChain(t, store, "thread", 2)
}

// Requirement: out of memory
// Requirement: ErrFull: nothing was written, and reads still work
func TestServer_Full(t *testing.T) {
	s := start(t, "--maxmemory-policy", "noeviction")
	store := storeOf(t, s.client(t), redis.Config{RetryFor: patient})
	for seq := range uint64(5) {
		if err := store.Commit(t.Context(), link("thread", seq+1, fmt.Sprint(seq))); err != nil {
			t.Fatal(err)
		}
	}
	k := checkpoint.Key{Thread: "thread"}
	if err := store.Put(t.Context(), checkpoint.Pending{Key: k, Head: 5, Entries: []checkpoint.Entry{{Task: "t", Slot: "s"}}}); err != nil {
		t.Fatal(err)
	}
	s.do(t, "config", "set", "maxmemory", "1")
	for what, err := range map[string]error{
		"a commit":       store.Commit(t.Context(), link("thread", 6, "6")),
		"a first commit": store.Commit(t.Context(), link("new", 1, "1")),
		"a put":          store.Put(t.Context(), checkpoint.Pending{Key: k, Head: 5, Entries: []checkpoint.Entry{{Task: "u", Slot: "s"}}}),
	} {
		wantError(t, "a full server refuses "+what, err, checkpoint.ErrFull, "maxmemory")
	}
	snap, err := store.Load(t.Context(), k, 0)
	if err != nil || snap.Seq != 5 || len(snap.Pending) != 1 {
		t.Errorf("rule: a full server still gives what it has, unchanged\n got: commit %d with %d entries, error %v\nwant: commit 5 with 1", snap.Seq, len(snap.Pending), err)
	}
	if err := store.Drop(t.Context(), checkpoint.Drop{Key: k, Head: 5, Commits: []uint64{1, 2}}); err != nil {
		t.Errorf("rule: a full server can be pruned\n got: %v", err)
	}
	s.do(t, "config", "set", "maxmemory", "0")
	if err := store.Commit(t.Context(), link("thread", 6, "6")); err != nil {
		t.Errorf("rule: with room the same commit succeeds\n got: %v", err)
	}
	s.do(t, "config", "set", "maxmemory", "1")
	if err := store.Delete(t.Context(), "thread"); err != nil {
		t.Errorf("rule: a full server can delete\n got: %v", err)
	}
}

// Requirement: the server refuses, or is not ready
// Requirement: ErrBusy: nothing was written
func TestServer_Busy(t *testing.T) {
	s := start(t, "--lua-time-limit", "10")
	store := storeOf(t, s.client(t), redis.Config{RetryFor: time.Second})
	if err := store.Commit(t.Context(), link("thread", 1, "1")); err != nil {
		t.Fatal(err)
	}
	slow := connect(t, goredis.Options{Addr: s.addr, ReadTimeout: -1})
	done := make(chan error, 1)
	go func() { done <- slow.Eval(context.Background(), "while true do end", nil).Err() }()
	if err := s.ready("BUSY"); err != nil {
		t.Fatal(err)
	}
	err := store.Commit(t.Context(), link("thread", 2, "2"))
	wantError(t, "a server that runs a script for ever is busy", err, checkpoint.ErrBusy, "SCRIPT KILL")
	s.do(t, "script", "kill")
	<-done
	if err := store.Commit(t.Context(), link("thread", 2, "2")); err != nil {
		t.Error(err)
	}
}

// TestContext_ThatEnds pauses the server for much longer than any call may wait. The bound
// is generous; without care each call takes half a minute.
//
// Requirement: the store is slow, or silent
// Requirement: a context ends during a write
// Requirement: the error of a context alone: nothing was written
func TestContext_ThatEnds(t *testing.T) {
	const pause, bound = 30 * time.Second, 5 * time.Second
	s := start(t)
	for name, o := range map[string]goredis.Options{
		"a client that ignores contexts": {Addr: s.addr, ReadTimeout: pause},
		"a client that knows deadlines":  {Addr: s.addr, ReadTimeout: pause, ContextTimeoutEnabled: true, MaxRetries: -1},
	} {
		store := storeOf(t, connect(t, o), redis.Config{Prefix: fmt.Sprintf("p%v", o.ContextTimeoutEnabled)})
		if err := store.Commit(t.Context(), link("thread", 1, "1")); err != nil {
			t.Fatal(err)
		}
		for what, end := range map[string]func() (context.Context, context.CancelFunc){
			"a deadline": func() (context.Context, context.CancelFunc) {
				return context.WithTimeout(t.Context(), 60*time.Millisecond)
			},
			"a cancelled context": func() (context.Context, context.CancelFunc) {
				ctx, cancel := context.WithCancel(t.Context())
				timer := time.AfterFunc(60*time.Millisecond, cancel)
				return ctx, func() { timer.Stop(); cancel() }
			},
		} {
			s.do(t, "client", "pause", pause.Milliseconds(), "write")
			ctx, cancel := end()
			begin := time.Now()
			err := store.Commit(ctx, link("thread", 2, "2"))
			wantError(t, what+" ends a commit, whose outcome is then unknown, with "+name, err, checkpoint.ErrUnknownOutcome)
			wantError(t, what+" ends a commit with its own error, with "+name, err, ctx.Err())
			_, err = store.Load(ctx, checkpoint.Key{Thread: "thread"}, 0)
			wantError(t, what+" ends a load, with "+name, err, ctx.Err())
			if took := time.Since(begin); took > bound {
				t.Errorf("rule: %s is honoured, with %s\n got: after %v", what, name, took)
			}
			cancel()
			s.do(t, "client", "unpause")
			if err := store.Commit(t.Context(), link("thread", 2, "2")); err != nil {
				t.Errorf("rule: the same commit again settles the outcome\n got: %v", err)
			}
			checkChain(t, store, "thread", 2)
		}
	}
}

// TestEviction_RemovesWholeThreads fills a server that throws keys away.
//
// Requirement: a thread is evicted, or expires
func TestEviction_RemovesWholeThreads(t *testing.T) {
	s := start(t, "--maxmemory", "4mb", "--maxmemory-policy", "allkeys-random")
	store := storeOf(t, s.client(t), redis.Config{})
	const n = 300
	for i := range n {
		thread := fmt.Sprint("thread ", i)
		for seq := range 4 {
			c := step(thread, seq+1)
			c.Blobs[0].Data = []byte(strings.Repeat("b", 4096))
			err := store.Commit(t.Context(), c)
			if seq > 0 && errors.Is(err, checkpoint.ErrConflict) {
				break // it was evicted meanwhile
			}
			if err != nil {
				t.Fatal(err)
			}
			store.Put(t.Context(), checkpoint.Pending{Key: c.Key, Head: c.Seq(), Entries: []checkpoint.Entry{{Task: "t", Slot: "s"}}})
		}
	}
	there, gone := 0, 0
	for i := range n {
		snap, err := store.Load(t.Context(), checkpoint.Key{Thread: fmt.Sprint("thread ", i)}, 0)
		switch {
		case errors.Is(err, checkpoint.ErrNotFound):
			gone++
		case err != nil || len(snap.Blobs) != int(snap.Seq) || len(snap.Pending) != 1:
			t.Errorf("rule: an evicted thread is gone as a whole\n got: commit %d with %d blobs and %d entries, error %v", snap.Seq, len(snap.Blobs), len(snap.Pending), err)
		default:
			there++
		}
	}
	if there == 0 || gone == 0 {
		t.Errorf("the server evicted %d threads and has %d left; the test needs both", gone, there)
	}
}

// TestKeys_OfOtherPrograms are left alone.
//
// Requirement: another version wrote it
func TestKeys_OfOtherPrograms(t *testing.T) {
	s, prefix := common(t)
	store := storeOf(t, s.client(t), redis.Config{Prefix: prefix})
	key := prefix + ":{thread}"
	if err := store.Commit(t.Context(), link("thread", 1, "1")); err != nil {
		t.Fatal(err)
	}
	for origin, wants := range map[string]string{"2thread": "newer version", "1another": "belongs to"} {
		s.do(t, "hset", key, "@", origin)
		_, loadErr := store.Load(t.Context(), checkpoint.Key{Thread: "thread"}, 0)
		_, spacesErr := store.Namespaces(t.Context(), "thread")
		_, leaseErr := store.Acquire(t.Context(), checkpoint.LeaseRequest{Thread: "thread", TTL: time.Minute})
		for what, err := range map[string]error{
			"Commit": store.Commit(t.Context(), link("thread", 2, "2")), "Load": loadErr, "Namespaces": spacesErr, "Acquire": leaseErr,
			"Expire": store.Expire(t.Context(), "thread", time.Minute),
		} {
			wantError(t, what+" leaves what it does not know as it is", err, checkpoint.ErrUnsupported, wants)
		}
	}
}

// TestLimits_TooLarge refuses before anything is sent.
//
// Requirement: a state is huge
func TestLimits_TooLarge(t *testing.T) {
	store := storeOf(t, connect(t, goredis.Options{Addr: "127.0.0.1:1"}), redis.Config{MaxBytes: 1000, RetryFor: patient})
	c := link("thread", 1, "1")
	c.Blobs[0].Data = make([]byte, 1000)
	wantError(t, "a commit that is too large is refused without a server", store.Commit(t.Context(), c), checkpoint.ErrTooLarge, "MaxBytes")
	p := checkpoint.Pending{Key: c.Key, Entries: []checkpoint.Entry{{Data: make([]byte, 1000)}}}
	wantError(t, "entries that are too large are refused without a server", store.Put(t.Context(), p), checkpoint.ErrTooLarge, "MaxBytes")
}

// TestServer_ThatLostItsTail goes back to an earlier commit, as after a failover.
//
// Requirement: a failover loses acknowledged commits
func TestServer_ThatLostItsTail(t *testing.T) {
	s, prefix := common(t)
	store := storeOf(t, s.client(t), redis.Config{Prefix: prefix})
	key := prefix + ":{thread}"
	var dump any
	for seq := range uint64(9) {
		if err := store.Commit(t.Context(), link("thread", seq+1, fmt.Sprint(seq+1))); err != nil {
			t.Fatal(err)
		}
		if seq == 4 {
			dump = s.do(t, "dump", key)
		}
	}
	s.do(t, "restore", key, 0, dump, "replace")
	var c *checkpoint.ConflictError
	err := store.Commit(t.Context(), link("thread", 10, "10"))
	if !errors.As(err, &c) || c.Head != 5 {
		t.Errorf("rule: a conflict names the real head, also when it went back\n got: %v\nwant: head 5", err)
	}
	recovered := link("thread", 6, "recovered")
	if err := store.Commit(t.Context(), recovered); err != nil {
		t.Errorf("rule: a thread that went back can go on\n got: %v", err)
	}
	s.do(t, "del", key)
	err = store.Commit(t.Context(), link("thread", 7, "7"))
	if !errors.As(err, &c) || c.Head != 0 {
		t.Errorf("rule: a conflict names the real head, also when there is none\n got: %v\nwant: head 0", err)
	}
}

// TestIndex_RepairsItself: the index of threads is a hint.
func TestIndex_RepairsItself(t *testing.T) {
	s, prefix := common(t)
	store := storeOf(t, s.client(t), redis.Config{Prefix: prefix})
	hidden := storeOf(t, s.client(t), redis.Config{Prefix: prefix, Unlisted: true})
	for n := range 40 {
		if err := store.Commit(t.Context(), link(fmt.Sprint("thread ", n), 1, "1")); err != nil {
			t.Fatal(err)
		}
	}
	if err := hidden.Commit(t.Context(), link("hidden", 1, "1")); err != nil {
		t.Fatal(err)
	}
	for n := range 20 {
		s.do(t, "del", prefix+":{"+redis.Encode(fmt.Sprint("thread ", 2*n))+"}")
	}
	list := func() (n int) {
		for snap, err := range store.Threads(t.Context(), checkpoint.ThreadQuery{}) {
			if err != nil || snap.Seq == 0 {
				t.Errorf("rule: threads that are gone are passed over\n got: commit %d, error %v", snap.Seq, err)
			}
			n++
		}
		return n
	}
	indexed := func() (n int64) {
		for i := range 16 {
			n += s.do(t, "zcard", fmt.Sprint(prefix, ":threads:", i)).(int64)
		}
		return n
	}
	if got := list(); got != 20 || indexed() != 20 {
		t.Errorf("rule: threads that are gone are taken off the index when they are met\n got: %d listed, %d in the index\nwant: 20 and 20", got, indexed())
	}
	for i := range 16 {
		s.do(t, "del", fmt.Sprint(prefix, ":threads:", i))
	}
	for seq := uint64(2); seq <= 65; seq++ {
		if err := store.Commit(t.Context(), link("thread 1", seq, "1")); err != nil {
			t.Fatal(err)
		}
	}
	if got := list(); got != 1 {
		t.Errorf("rule: a thread that goes on finds its way back into the index\n got: %d listed\nwant: 1", got)
	}
}

// checkChain demands a chain from 1 to head without gaps, each commit whole.
func checkChain(t testing.TB, s checkpoint.Store, thread string, head uint64) {
	t.Helper()
	k := checkpoint.Key{Thread: thread}
	want := head
	for snap, err := range s.History(t.Context(), k, checkpoint.Query{}) {
		if err != nil || snap.Seq != want {
			t.Fatalf("rule: a chain has no gaps\n got: commit %d of %q, error %v\nwant: commit %d", snap.Seq, thread, err, want)
		}
		want--
	}
	if want != 0 {
		t.Fatalf("rule: a chain has every commit\n got: %q ends above %d\nwant: %d commits", thread, want, head)
	}
}

// fewer returns n, or less in a short run and under the race detector, or much more in a soak.
func fewer(short, n, soak int) int {
	if testing.Short() || racescale.Raced {
		n = short
	}
	return racescale.Soak(n, soak)
}
