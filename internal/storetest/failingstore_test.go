package storetest_test

import (
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/internal/storetest"
)

func TestFailingStore_FailsTheChosenWrites(t *testing.T) {
	s := &storetest.FailingStore{Store: new(checkpoint.Memory), At: map[int]bool{1: false, 3: true}}
	k := checkpoint.Key{Thread: "t"}
	for i, want := range []struct {
		err  error
		head uint64
	}{{storetest.ErrDisk, 0}, {nil, 1}, {storetest.ErrDisk, 2}, {nil, 3}} {
		head := max(want.head, 1) - 1
		err := s.Commit(t.Context(), checkpoint.Commit{Key: k, Head: head, ID: string(rune('a' + i)), Header: []byte("h")})
		snap, _ := s.Load(t.Context(), k, 0) // the zero Snapshot where there is none
		if err != want.err || snap.Head != want.head {
			t.Errorf("write %d: got %v and the head %d, want %v and %d", i+1, err, snap.Head, want.err, want.head)
		}
	}
	if err := s.Put(t.Context(), checkpoint.Pending{Key: k, Head: 3}); err != nil {
		t.Error(err)
	}
	if s.Writes != 5 || s.Faults != 2 {
		t.Errorf("got %d writes and %d faults, want 5 and 2", s.Writes, s.Faults)
	}
}
