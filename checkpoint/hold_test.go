package checkpoint_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/sqlite"
	"github.com/weftrun/weft/internal/racescale"
)

func hold(t *testing.T, s checkpoint.Store, o checkpoint.HoldOptions) *checkpoint.Held {
	t.Helper()
	h, err := checkpoint.Hold(t.Context(), s, "thread", o)
	if err != nil {
		t.Fatalf("rule: a free thread can be held\n got: %v\nwant: no error", err)
	}
	return h
}

func release(t *testing.T, h *checkpoint.Held) {
	t.Helper()
	if err := h.Release(t.Context()); err != nil {
		t.Errorf("rule: a thread can be released\n got: %v\nwant: no error", err)
	}
}

// Requirement: a lease is renewed by the store's clock and fences late writers
func TestHold_RenewsTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := new(checkpoint.Memory)
		h := hold(t, s, checkpoint.HoldOptions{Owner: "ann", TTL: time.Minute})
		time.Sleep(24 * time.Hour)
		_, err := checkpoint.Hold(t.Context(), s, "thread", checkpoint.HoldOptions{})
		var busy *checkpoint.BusyError
		if !errors.As(err, &busy) || !strings.HasPrefix(busy.Owner, "ann [") || busy.Remaining < 40*time.Second {
			t.Errorf("rule: a held thread stays held\n got: %v\nwant: a *BusyError that names ann", err)
		}
		c := checkpoint.Commit{Key: checkpoint.Key{Thread: "thread"}, ID: "1", Fence: h.Fence()}
		if err := errors.Join(s.Commit(t.Context(), c), h.Context().Err()); err != nil {
			t.Errorf("rule: who holds a thread can write\n got: %v\nwant: no error", err)
		}
		release(t, h)
		release(t, h)
		if h.Context().Err() == nil {
			t.Error("rule: the context ends with the release")
		}
		release(t, hold(t, s, checkpoint.HoldOptions{}))
	})
}

func TestHold_TakenOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := new(checkpoint.Memory)
		first := hold(t, s, checkpoint.HoldOptions{TTL: time.Minute})
		second := hold(t, s, checkpoint.HoldOptions{TTL: time.Minute, Owner: "bob", Policy: checkpoint.TakeOver})
		began := time.Now()
		<-first.Context().Done()
		cause := context.Cause(first.Context())
		if !errors.Is(cause, checkpoint.ErrLeaseLost) || !errors.Is(cause, checkpoint.ErrFenced) || !strings.Contains(cause.Error(), "bob") || time.Since(began) > time.Minute {
			t.Errorf("rule: a holder that loses its thread learns the new owner\n got: %v after %v\nwant: %v, by bob, within a minute", cause, time.Since(began), checkpoint.ErrLeaseLost)
		}
		release(t, first)
		if _, err := checkpoint.Hold(t.Context(), s, "thread", checkpoint.HoldOptions{}); !errors.Is(err, checkpoint.ErrOwned) {
			t.Errorf("rule: releasing a lease that was lost does not release another's\n got: %v\nwant: %v", err, checkpoint.ErrOwned)
		}
		release(t, second)
	})
}

func TestHold_Waits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := new(checkpoint.Memory)
		first := hold(t, s, checkpoint.HoldOptions{TTL: time.Minute})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		_, err := checkpoint.Hold(ctx, s, "thread", checkpoint.HoldOptions{Policy: checkpoint.Wait})
		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, checkpoint.ErrOwned) {
			t.Errorf("rule: waiting ends with its context, and the error names the owner\n got: %v\nwant: both errors", err)
		}
		got := make(chan *checkpoint.Held)
		go func() {
			h, err := checkpoint.Hold(t.Context(), s, "thread", checkpoint.HoldOptions{Policy: checkpoint.Wait})
			if err != nil {
				t.Error(err)
			}
			got <- h
		}()
		time.Sleep(10 * time.Minute)
		release(t, first)
		release(t, <-got)
	})
}

// flakyLeases is a store whose Acquire can be set to fail.
type flakyLeases struct {
	*checkpoint.Memory
	down atomic.Bool
}

func (f *flakyLeases) Acquire(ctx context.Context, r checkpoint.LeaseRequest) (checkpoint.Lease, error) {
	if f.down.Load() {
		return checkpoint.Lease{}, checkpoint.ErrUnavailable
	}
	return f.Memory.Acquire(ctx, r)
}

func TestHold_OutlivesAShortFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &flakyLeases{Memory: new(checkpoint.Memory)}
		h := hold(t, s, checkpoint.HoldOptions{TTL: time.Minute})
		time.Sleep(time.Second)
		s.down.Store(true)
		time.Sleep(45 * time.Second)
		s.down.Store(false)
		time.Sleep(time.Hour)
		if err := h.Context().Err(); err != nil {
			t.Errorf("rule: a failure shorter than the lease loses nothing\n got: %v\nwant: no error", context.Cause(h.Context()))
		}
		s.down.Store(true)
		time.Sleep(2 * time.Minute)
		cause := context.Cause(h.Context())
		if !errors.Is(cause, checkpoint.ErrLeaseLost) || !errors.Is(cause, checkpoint.ErrUnavailable) {
			t.Errorf("rule: a lease that cannot be renewed for its whole time is lost\n got: %v\nwant: %v", cause, checkpoint.ErrLeaseLost)
		}
		release(t, h)
	})
}

func TestHold_EndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		h, err := checkpoint.Hold(ctx, new(checkpoint.Memory), "thread", checkpoint.HoldOptions{})
		if err != nil {
			t.Fatal(err)
		}
		why := errors.New("why")
		cancel(why)
		<-h.Context().Done()
		if got := context.Cause(h.Context()); got != why {
			t.Errorf("got cause %v, want %v", got, why)
		}
		release(t, h)
	})
}

func TestHold_WithoutLeases(t *testing.T) {
	s := struct{ checkpoint.Store }{new(checkpoint.Memory)}
	h := hold(t, s, checkpoint.HoldOptions{})
	if h.Fence() != "" || h.Context().Err() != nil {
		t.Errorf("rule: a store without leases holds nothing\n got: fence %q, error %v\nwant: none", h.Fence(), h.Context().Err())
	}
	release(t, h)
}

func TestHold_RefusesBadRequests(t *testing.T) {
	for _, o := range []checkpoint.HoldOptions{{Owner: strings.Repeat("x", 65)}, {Owner: "a\x00"}, {TTL: -1}, {Renewed: true}} {
		if _, err := checkpoint.Hold(t.Context(), new(checkpoint.Memory), "thread", o); !errors.Is(err, checkpoint.ErrRequest) {
			t.Errorf("rule: bad options are refused\n got: %v for %+v\nwant: %v", err, o, checkpoint.ErrRequest)
		}
	}
	if _, err := checkpoint.Hold(t.Context(), new(checkpoint.Memory), "", checkpoint.HoldOptions{}); !errors.Is(err, checkpoint.ErrThreadID) {
		t.Errorf("got %v, want %v", err, checkpoint.ErrThreadID)
	}
	h := hold(t, new(checkpoint.Memory), checkpoint.HoldOptions{Owner: strings.Repeat("x", 64)})
	release(t, h)
}

// The test binary runs itself as a process that holds a thread until it is killed.
const holderVariable = "WEFT_TEST_HOLDER"

func runHolder(path string) {
	s, err := sqlite.Open(context.Background(), path)
	if err == nil {
		_, err = checkpoint.Hold(context.Background(), s, "thread", checkpoint.HoldOptions{TTL: time.Hour})
	}
	fmt.Println("held", err)
	io.Copy(io.Discard, os.Stdin) // until the parent ends, if it does not kill us before
}

// TestHold_DeadOwnerIsReplacedAtOnce kills a real process that holds a thread for an hour.
//
// Requirement: a killed process's thread is free at once
func TestHold_DeadOwnerIsReplacedAtOnce(t *testing.T) {
	if checkpoint.SystemKnowsNoProcesses() {
		t.Log("on this system no process is considered dead")
		return
	}
	for _, waited := range []bool{true, false} {
		path := filepath.Join(t.TempDir(), "threads.db")
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(racescale.Environ(), holderVariable+"="+path)
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(out).ReadString('\n')
		if line != "held <nil>\n" {
			t.Fatalf("the other process does not hold the thread: %q, %v", line, err)
		}
		s, err := sqlite.Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		_, err = checkpoint.Hold(t.Context(), s, "thread", checkpoint.HoldOptions{})
		if !errors.Is(err, checkpoint.ErrOwned) {
			t.Errorf("rule: nothing is taken from a process that lives\n got: %v\nwant: %v", err, checkpoint.ErrOwned)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if waited {
			cmd.Wait()
		}
		h, err := checkpoint.Hold(t.Context(), s, "thread", checkpoint.HoldOptions{})
		for !waited && errors.Is(err, checkpoint.ErrOwned) { // until the kernel has killed it
			h, err = checkpoint.Hold(t.Context(), s, "thread", checkpoint.HoldOptions{})
		}
		if err != nil {
			t.Fatalf("rule: a thread of a process that was killed is free at once\n got: %v\nwant: no error", err)
		}
		release(t, h)
		if !waited {
			cmd.Wait()
		}
	}
}

// queuedLeases takes two fifths of the lease's time for each renewal.
type queuedLeases struct {
	checkpoint.Memory
	renewed atomic.Int64
}

func (q *queuedLeases) Acquire(ctx context.Context, r checkpoint.LeaseRequest) (checkpoint.Lease, error) {
	if r.Fence != "" {
		select {
		case <-time.After(r.TTL * 2 / 5):
		case <-ctx.Done():
			return checkpoint.Lease{}, ctx.Err()
		}
		q.renewed.Add(1)
	}
	return q.Memory.Acquire(ctx, r)
}

func TestHold_RenewalWaitsInAQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := new(queuedLeases)
		h := hold(t, s, checkpoint.HoldOptions{TTL: time.Minute})
		time.Sleep(time.Hour)
		if err := h.Context().Err(); err != nil || s.renewed.Load() < 60 {
			t.Errorf("rule: a renewal that takes two fifths of the lease's time renews it\n got: %v after %d renewals",
				context.Cause(h.Context()), s.renewed.Load())
		}
		release(t, h)
	})
}

// lateReplies grants a lease at once, and takes five sixths of its time to reply.
type lateReplies struct{ checkpoint.Memory }

func (l *lateReplies) Acquire(ctx context.Context, r checkpoint.LeaseRequest) (checkpoint.Lease, error) {
	lease, err := l.Memory.Acquire(ctx, r)
	if r.Owner != "" || r.TTL == time.Hour {
		time.Sleep(r.TTL * 5 / 6)
	}
	return lease, err
}

// The time of a lease begins in the store, before the reply.
func TestHold_LateReplyIsRenewedInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := new(lateReplies)
		for _, o := range []checkpoint.HoldOptions{{TTL: time.Minute, ID: "run1"}, {TTL: time.Hour, Fence: "run1"}} {
			h := hold(t, s, o)
			time.Sleep(o.TTL / 4) // the first time of the lease has passed
			if _, err := checkpoint.Hold(t.Context(), &s.Memory, "thread", checkpoint.HoldOptions{}); !errors.Is(err, checkpoint.ErrOwned) {
				t.Errorf("rule: a lease whose reply was late is renewed before it runs out\n got: %v\nwant: %v", err, checkpoint.ErrOwned)
			}
			h.Leave()
		}
	})
}

// losesGrants grants leases and loses the replies.
type losesGrants struct{ checkpoint.Memory }

func (l *losesGrants) Acquire(ctx context.Context, r checkpoint.LeaseRequest) (checkpoint.Lease, error) {
	if _, err := l.Memory.Acquire(ctx, r); err != nil {
		return checkpoint.Lease{}, err
	}
	return checkpoint.Lease{}, checkpoint.ErrUnknownOutcome
}

func TestHold_LostReplyLeavesNoLease(t *testing.T) {
	s := new(losesGrants)
	if _, err := checkpoint.Hold(t.Context(), s, "thread", checkpoint.HoldOptions{}); !errors.Is(err, checkpoint.ErrUnknownOutcome) {
		t.Errorf("got %v, want an ErrUnknownOutcome", err)
	}
	release(t, hold(t, &s.Memory, checkpoint.HoldOptions{}))
}

// Requirement: driver: the lease belongs to the run, not to a process
func TestHold_NamedLeaseIsHeldByMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := new(checkpoint.Memory)
		first := hold(t, s, checkpoint.HoldOptions{ID: "run1", TTL: time.Minute})
		again := hold(t, s, checkpoint.HoldOptions{ID: "run1", TTL: time.Minute})
		other := hold(t, s, checkpoint.HoldOptions{Fence: first.Fence(), TTL: time.Minute})
		if first.Fence() != "run1" || again.Fence() != "run1" || other.Fence() != "run1" {
			t.Errorf("rule: the ID of a lease is its fence\n got: %q, %q, %q", first.Fence(), again.Fence(), other.Fence())
		}
		first.Leave()
		again.Leave()
		time.Sleep(time.Hour)
		var busy *checkpoint.BusyError
		if _, err := checkpoint.Hold(t.Context(), s, "thread", checkpoint.HoldOptions{}); !errors.As(err, &busy) || strings.Contains(busy.Owner, "[") {
			t.Errorf("rule: one holder that renews keeps the lease, which is no process's\n got: %v\nwant: a *BusyError that names no process", err)
		}
		other.Leave()
		back := hold(t, s, checkpoint.HoldOptions{Fence: "run1"}) // it has run out, and no other writer has come
		if back.Context().Err() != nil || other.Context().Err() == nil {
			t.Error("rule: the context of a Held ends when it is left, and no other's")
		}
		release(t, back)
		for _, o := range []checkpoint.HoldOptions{{Fence: "run1"}, {ID: "run1"}} {
			if _, err := checkpoint.Hold(t.Context(), s, "thread", o); !errors.Is(err, checkpoint.ErrFenced) {
				t.Errorf("rule: a lease that was released is not held again (%+v)\n got: %v\nwant: %v", o, err, checkpoint.ErrFenced)
			}
		}
	})
}

func TestHold_FenceThatWasOvertaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := new(checkpoint.Memory)
		first := hold(t, s, checkpoint.HoldOptions{ID: "run1", TTL: time.Minute})
		release(t, hold(t, s, checkpoint.HoldOptions{Policy: checkpoint.TakeOver}))
		<-first.Context().Done()
		if cause := context.Cause(first.Context()); !errors.Is(cause, checkpoint.ErrLeaseLost) {
			t.Errorf("rule: a holder learns that its lease is lost\n got: %v\nwant: %v", cause, checkpoint.ErrLeaseLost)
		}
		if _, err := checkpoint.Hold(t.Context(), s, "thread", checkpoint.HoldOptions{Fence: "run1"}); !errors.Is(err, checkpoint.ErrFenced) {
			t.Errorf("rule: a fence that was overtaken holds nothing\n got: %v\nwant: %v", err, checkpoint.ErrFenced)
		}
		first.Leave()
	})
}
