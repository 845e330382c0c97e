package redis_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/checkpoint/memory"
	"github.com/weftrun/weft/checkpoint/redis"
)

// TestBatch_LostReplyThenOvertaken loses the reply of a batch of two. Before the writer can ask
// again, another one replaces the first of them. The batch was made, and its result does not have
// the version of the other writer.
//
// Requirement: a connection is cut, a reply is lost
func TestBatch_LostReplyThenOvertaken(t *testing.T) {
	at, ns := document.At("c", "p"), []string{"n"}
	value := json.RawMessage(`1`)
	for name, batch := range map[string]func(s *redis.Store, ids ...string) ([]uint64, error){
		"of documents": func(s *redis.Store, ids ...string) (versions []uint64, err error) {
			var changes []document.Change
			for _, id := range ids {
				changes = append(changes, document.Change{ID: id, Value: value})
			}
			docs, err := documentsOf(t, s).Batch(t.Context(), at, changes)
			for _, d := range docs {
				versions = append(versions, d.Version)
			}
			return versions, err
		},
		"of items": func(s *redis.Store, ids ...string) (versions []uint64, err error) {
			var ops []memory.Op
			for _, id := range ids {
				ops = append(ops, memory.Op{Key: id, Value: value})
			}
			items, err := s.Memory().Batch(t.Context(), ns, ops)
			for _, i := range items {
				versions = append(versions, i.Version)
			}
			return versions, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, prefix := common(t)
			l := startLoser(t, s, prefix, func(reply string) bool { return strings.HasPrefix(reply, "*3\r\n$1\r\nK\r\n") })
			if _, err := batch(l.store, "warm", "too"); err != nil {
				t.Fatal(err)
			}
			l.losing.Store(true)
			done := make(chan error, 1)
			var versions []uint64
			go func() {
				var err error
				versions, err = batch(l.store, "a", "b")
				done <- err
			}()
			<-l.lost
			if _, err := batch(storeOf(t, s.client(t), redis.Config{Prefix: prefix}), "a"); err != nil {
				t.Error(err)
			}
			close(l.open)
			if err := <-done; err != nil || len(versions) != 2 || versions[0] != 0 || versions[1] == 0 {
				t.Errorf("rule: a batch that was made succeeds, without the version of another writer\n got: %d, %v\nwant: 0 and another", versions, err)
			}
		})
	}
}
