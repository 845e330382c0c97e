package redis_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/checkpoint/redis"
	"github.com/weftrun/weft/conversation"
	"github.com/weftrun/weft/internal/racescale"
	"github.com/weftrun/weft/internal/servicetest"
	"github.com/weftrun/weft/state/message"
)

func documentStore(t testing.TB) document.Store {
	t.Helper()
	s, prefix := common(t)
	return documentsOf(t, storeOf(t, s.quick(t), redis.Config{Prefix: prefix}))
}

func TestServices(t *testing.T) { servicetest.Run(t, documentStore(t)) }

func openDocuments(ctx context.Context, url string) (document.Store, func(), error) {
	s, err := redis.OpenURL(ctx, url)
	if err != nil {
		return nil, nil, err
	}
	docs, err := s.Documents(ctx)
	return docs, func() { s.Close() }, err
}

// Requirement: two processes lose nothing of a conversation or a session
func TestServices_TwoProcesses(t *testing.T) {
	servicetest.RunProcesses(t, "redis://"+start(t).addr, openDocuments)
}

func BenchmarkConversations(b *testing.B) { servicetest.Benchmark(b, documentStore(b)) }

// Requirement: the last documents are one round trip
func TestMessages_LastOfALongThreadAreOneRoundTrip(t *testing.T) {
	s, prefix := common(t)
	p := startProxy(t, s.addr)
	c := connect(t, goredis.Options{Addr: p.addr, PoolSize: 1, ContextTimeoutEnabled: true, MaxRetries: -1})
	repo := repositoryOf(t, storeOf(t, c, redis.Config{Prefix: prefix}))
	servicetest.Fill(t, repo, "t", 10_000)
	for round := range 2 { // the first lets the server learn the script
		before := p.trips.Load()
		ms, err := repo.Get(t.Context(), "t", conversation.Options{Limit: new(20)})
		if err != nil || len(ms) != 20 || ms[19].ID != "9999" {
			t.Fatalf("got %d messages, %v", len(ms), err)
		}
		if trips := p.trips.Load() - before; round == 1 && trips != 1 {
			t.Errorf("rule: the last 20 of 10,000 messages are one round trip\n got: %d", trips)
		}
	}
}

func repositoryOf(t testing.TB, s *redis.Store) *conversation.Repository {
	t.Helper()
	repo, err := conversation.NewRepository(documentsOf(t, s))
	if err != nil {
		t.Fatal(err)
	}
	return repo
}

// Where a process that a test starts finds its server, and the prefix.
const listenAt, listenPrefix = "WEFT_TEST_LISTEN_AT", "WEFT_TEST_LISTEN_PREFIX"

// TestListener_InAProcess is a process of its own; without its environment it has nothing to do.
func TestListener_InAProcess(t *testing.T) {
	addr := os.Getenv(listenAt)
	if addr == "" {
		return
	}
	store := storeOf(t, connectTo(t, addr), redis.Config{Prefix: os.Getenv(listenPrefix)})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	sub := conversation.NewFeed(store.Bus(0)).Subscribe(ctx, conversation.Filter{Thread: "t", Roles: []message.Role{message.RoleUser}})
	fmt.Println("heard: ready")
	for n, err := range sub {
		if err != nil {
			t.Fatal(err)
		}
		if fmt.Println("heard:", n.Thread, n.Message.Text()); n.Message.Text() == "end" {
			return
		}
	}
}

// Requirement: filters of subscribers are ignored
func TestListener_AnotherProcessReceivesEvents(t *testing.T) {
	s, prefix := common(t)
	child := exec.Command(os.Args[0], "-test.run=^TestListener_InAProcess$", "-test.v")
	child.Env = append(racescale.Environ(), listenAt+"="+s.addr, listenPrefix+"="+prefix)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer child.Wait()
	defer child.Process.Kill()
	store := storeOf(t, s.quick(t), redis.Config{Prefix: prefix})
	talk, err := conversation.New(conversation.Config{Repository: repositoryOf(t, store), Sockets: []conversation.Socket{conversation.NewFeed(store.Bus(0))}})
	if err != nil {
		t.Fatal(err)
	}
	var heard []string
	for lines := bufio.NewScanner(out); lines.Scan(); {
		text, ok := strings.CutPrefix(lines.Text(), "heard: ")
		switch {
		case ok && text == "ready":
			_, err1 := talk.Add(t.Context(), "t", message.User("one"), message.Assistant("two"))
			_, err2 := talk.Add(t.Context(), "u", message.User("elsewhere"))
			_, err3 := talk.Add(t.Context(), "t", message.User("end"))
			if err1 != nil || err2 != nil || err3 != nil {
				t.Fatal(err1, err2, err3)
			}
		case ok:
			heard = append(heard, text)
		}
	}
	if got, want := strings.Join(heard, ", "), "t one, t end"; got != want {
		t.Errorf("rule: another process receives what it subscribed to\n got: %s\nwant: %s", got, want)
	}
}
