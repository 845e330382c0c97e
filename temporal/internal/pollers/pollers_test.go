package pollers

import (
	"testing"
	"time"

	taskqueue "go.temporal.io/api/taskqueue/v1"
	"google.golang.org/protobuf/types/known/timestamppb"
)

func TestLiving_CountsWorkersWithARecentPoll(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	poll := func(identity string, age time.Duration) *taskqueue.PollerInfo {
		return &taskqueue.PollerInfo{Identity: identity, LastAccessTime: timestamppb.New(now.Add(-age))}
	}
	all := []*taskqueue.PollerInfo{poll("a", time.Second), poll("a", 4*time.Minute), poll("b", 65*time.Second), poll("c", 2*time.Minute)}
	if got := living(all, now); got != 2 {
		t.Errorf("living = %d, want the 2 workers a and b", got)
	}
	if got := living(nil, now); got != 0 {
		t.Errorf("living of no polls = %d, want 0", got)
	}
}
