package main

import (
	"crypto/ed25519"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/postgres"
	"github.com/weftrun/weft/checkpoint/redis"
	"github.com/weftrun/weft/checkpoint/sqlite"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/servertest"
	"github.com/weftrun/weft/internal/storetest"
	"github.com/weftrun/weft/state"
)

func TestAudit_FindsWhatWasChanged(t *testing.T) {
	var out strings.Builder
	if err := run(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{
		"verified: 3 commits, 1 signed decision", `"value":40 becomes "value":4000`, `commit 1, field "amount": the value is not the one`,
		`"value":4000 becomes "value":40`, "verified: 3 commits, 1 signed decision", `"by":"ann" becomes "by":"eve"`, "commit 3, decisions:",
	} {
		if line := strings.Split(out.String(), "\n")[i]; !strings.Contains(line, want) {
			t.Errorf("line %d: got %q, want %q in it", i+1, line, want)
		}
	}
}

// A process dies at each of its writes, before and after it is done, on each store. Another process
// ends the thread, and its history is verified.
func TestAudit_HoldsAfterDeathAtEachWrite(t *testing.T) {
	public, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, open := range map[string]func(*testing.T) (checkpoint.Store, error){
		"memory": func(*testing.T) (checkpoint.Store, error) { return new(checkpoint.Memory), nil },
		"sqlite": func(t *testing.T) (checkpoint.Store, error) {
			return sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "weft.db"))
		},
		"redis": func(t *testing.T) (checkpoint.Store, error) { return redis.OpenURL(t.Context(), servertest.Redis(t)) },
		"postgres": func(t *testing.T) (checkpoint.Store, error) {
			return postgres.Open(t.Context(), servertest.Postgres(t), postgres.Config{RetryFor: time.Minute})
		},
	} {
		t.Run(name, func(t *testing.T) {
			store, err := open(t)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = store.Close() })
			n := 1
			for ended := true; ended; n++ {
				for _, done := range []bool{false, true} {
					ended = diesAt(t, store, n, done, key, public)
				}
			}
			if n < 5 {
				t.Errorf("the process made only %d writes", n-2)
			}
		})
	}
}

// diesAt lets a process die at its write n, and reports whether it makes so many.
func diesAt(t *testing.T, store checkpoint.Store, n int, done bool, key ed25519.PrivateKey, public ed25519.PublicKey) bool {
	thread := t.Name() + strings.Repeat("+", n) + map[bool]string{true: " done"}[done]
	life := &storetest.Life{Left: n, Done: done}
	if err := finish(t, life.Store(store), thread, key); (err != nil) != life.Ended() {
		t.Fatalf("death at write %d: %v", n, err)
	}
	if err := finish(t, store, thread, key); err != nil {
		t.Fatalf("after death at write %d, done %t: %v", n, done, err)
	}
	v, err := graph.VerifyThread(t.Context(), store, thread, public)
	if err != nil {
		t.Fatal(err)
	}
	if err := v.Err(); err != nil || v.Signed != 1 || v.Decisions != 1 || v.Chains[0].Hashed != v.Chains[0].Commits {
		t.Errorf("after death at write %d, done %t: %v, %+v", n, done, err, *v)
	}
	return life.Ended()
}

// finish pays in a thread, or goes on with it.
func finish(t *testing.T, store checkpoint.Store, thread string, key ed25519.PrivateKey) error {
	g, err := payment(checkpoint.WithHashes(store))
	if err != nil {
		t.Fatal(err)
	}
	ctx := graph.WithSigner(t.Context(), key)
	run := graph.RunOptions{Thread: thread, By: "ann", Lease: checkpoint.HoldOptions{Policy: checkpoint.NoLease}}
	res, err := g.Resume(ctx, graph.Answers{}, run)
	if errors.Is(err, graph.ErrUnknownThread) {
		res, err = g.Invoke(ctx, State{To: state.Of("Bob"), Amount: state.Of(40)}, run)
	}
	if err == nil && res.Status == graph.Interrupted {
		_, err = g.Resume(ctx, graph.Answer(res.Interrupts[0].ID, true), run)
	}
	return err
}
