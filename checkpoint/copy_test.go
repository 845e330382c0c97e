package checkpoint_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint"
)

// unheard is a store whose replies to some commits are lost. They are made, except for those of a
// thread that another writer begins.
type unheard struct {
	checkpoint.Memory
	left, lost int  // commits before them, and how many they are
	away       bool // it does not reply at all to the commit after the first lost one
	other      *checkpoint.Commit
}

func (s *unheard) Commit(ctx context.Context, c checkpoint.Commit) error {
	s.left--
	if s.away && s.left == -2 {
		return checkpoint.ErrUnavailable
	}
	lost := s.left < 0 && s.left >= -s.lost
	if lost && s.other != nil {
		c = *s.other
	}
	err := s.Memory.Commit(ctx, c)
	if lost && err == nil {
		return fmt.Errorf("%w: the connection was cut", checkpoint.ErrUnknownOutcome)
	}
	return err
}

// Requirement: ErrUnknownOutcome: repeating the commit decides the outcome
func TestCopy_LostReply(t *testing.T) {
	from := new(checkpoint.Memory)
	writeThread(t, from, "word") // in two commits
	for first := range 2 {
		to := &unheard{left: first, lost: 1}
		if err := checkpoint.Copy(ctx, from, "t", to, "copy"); err != nil {
			t.Errorf("rule: a lost reply is asked for again\n commit %d: %v", first+1, err)
		}
		for _, to = range []*unheard{{left: first, lost: 2}, {left: first, lost: 1, away: true}} {
			if err := checkpoint.Copy(ctx, from, "t", to, "copy"); !errors.Is(err, checkpoint.ErrUnknownOutcome) {
				t.Errorf("two replies to commit %d are lost: got %v, want an ErrUnknownOutcome", first+1, err)
			}
			if left, err := to.Namespaces(ctx, "copy"); err != nil || len(left) > 0 {
				t.Errorf("rule: a copy that fails leaves nothing, also if the replies to commit %d are lost\n got: %q, %v", first+1, left, err)
			}
		}
		if err := checkpoint.Copy(ctx, from, "t", to, "copy"); err != nil {
			t.Errorf("rule: it can be made again\n got: %v", err)
		}
	}
}

func TestCopy_LostReplyBesideAnotherWriter(t *testing.T) {
	from := new(checkpoint.Memory)
	writeThread(t, from, "word")
	to := &unheard{lost: 1, other: &checkpoint.Commit{Key: checkpoint.Key{Thread: "copy"}, ID: "other"}}
	if err := checkpoint.Copy(ctx, from, "t", to, "copy"); !errors.Is(err, checkpoint.ErrConflict) {
		t.Errorf("got %v, want an ErrConflict", err)
	}
	if head, err := to.Load(ctx, checkpoint.Key{Thread: "copy"}, 0); err != nil || head.ID != "other" {
		t.Errorf("rule: what another writer has begun stays\n got: %q, %v", head.ID, err)
	}
}

func TestCopy_RemainderOfACopyIsNamed(t *testing.T) {
	from, to := new(checkpoint.Memory), new(checkpoint.Memory)
	writeThread(t, from, "word")
	c := checkpoint.Commit{Key: checkpoint.Key{Thread: "copy", Namespace: "child"}, ID: "1"}
	if err := to.Commit(ctx, c); err != nil {
		t.Fatal(err)
	}
	err := checkpoint.Copy(ctx, from, "t", to, "copy")
	if !errors.Is(err, checkpoint.ErrThreadExists) || !strings.Contains(err.Error(), "delete the thread first") {
		t.Errorf("rule: the error of a thread without a root names what to do\n got: %v", err)
	}
}
