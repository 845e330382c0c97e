package checkpoint_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint"
)

// losesReply is a store that loses the reply to one commit, which is made.
type losesReply struct {
	checkpoint.Memory
	left int // commits before it
}

func (s *losesReply) Commit(ctx context.Context, c checkpoint.Commit) error {
	err := s.Memory.Commit(ctx, c)
	if s.left--; s.left == -1 && err == nil {
		return fmt.Errorf("%w: the connection was cut", checkpoint.ErrUnknownOutcome)
	}
	return err
}

// Requirement: ErrUnknownOutcome: repeating the commit decides the outcome
func TestCopy_LostReplyLeavesNothing(t *testing.T) {
	from := new(checkpoint.Memory)
	writeThread(t, from, "word") // in two commits
	for lost := range 2 {
		to := &losesReply{left: lost}
		if err := checkpoint.Copy(ctx, from, "t", to, "copy"); !errors.Is(err, checkpoint.ErrUnknownOutcome) {
			t.Errorf("the reply to commit %d is lost: got %v, want an ErrUnknownOutcome", lost+1, err)
		}
		if left, err := to.Namespaces(ctx, "copy"); err != nil || len(left) > 0 {
			t.Errorf("rule: a copy that fails leaves nothing, also if the reply to commit %d is lost\n got: %q, %v", lost+1, left, err)
		}
		if err := checkpoint.Copy(ctx, from, "t", to, "copy"); err != nil {
			t.Errorf("rule: it can be made again\n got: %v", err)
		}
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
