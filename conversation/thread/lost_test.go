package thread_test

import (
	"context"
	"errors"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/conversation/thread"
)

// losing is a store that loses the replies to writes while it is on.
type losing struct {
	document.Store
	on *bool
}

func (l losing) Set(ctx context.Context, p document.Place, c document.Change) (document.Doc, error) {
	d, err := l.Store.Set(ctx, p, c)
	if err == nil && *l.on {
		return document.Doc{}, checkpoint.ErrUnknownOutcome
	}
	return d, err
}

type points struct{ N int }

// A state whose reply was lost is stored. Its session goes on from it, and no other session does.
func TestSave_LostReply(t *testing.T) {
	for name, edit := range map[string]int{"the same state": 1, "another state": 2} {
		t.Run(name, func(t *testing.T) {
			ctx, lost := t.Context(), false
			m, err := thread.NewManager(thread.NewRepository[points](losing{new(document.Map), &lost}), thread.Options{Strategy: thread.Implicit})
			if err != nil {
				t.Fatal(err)
			}
			if err := m.SetConfig(ctx, "t", thread.Config{}); err != nil {
				t.Fatal(err)
			}
			s, other := m.Begin(), m.Begin()
			var loaded []*thread.Thread[points]
			for _, one := range []*thread.Session[points]{s, other} {
				th, err := one.Load(ctx, "t")
				if err != nil {
					t.Fatal(err)
				}
				loaded = append(loaded, th)
			}
			loaded[0].State = (*thread.State[points])(nil).Next(points{1})
			lost = true
			if err := s.SaveIfModified(ctx, "t"); !errors.Is(err, checkpoint.ErrUnknownOutcome) {
				t.Fatalf("got %v, want an ErrUnknownOutcome", err)
			}
			lost = false
			loaded[0].State.Data.N = edit
			if err := s.SaveIfModified(ctx, "t"); err != nil {
				t.Errorf("rule: after an error, another call saves again\n got: %v", err)
			}
			if err := s.End(ctx); err != nil {
				t.Errorf("the end: %v", err)
			}
			now, err := m.Begin().Load(ctx, "t")
			if err != nil || now.State == nil || now.State.Data.N != edit || now.State.Version != uint64(edit) {
				t.Errorf("got %+v, %v; want %d of version %d", now.State, err, edit, edit)
			}
			loaded[1].State = (*thread.State[points])(nil).Next(points{1})
			if err := other.SaveIfModified(ctx, "t"); !errors.Is(err, thread.ErrConflict) {
				t.Errorf("rule: a session that has sent nothing gets the conflict\n got: %v", err)
			}
		})
	}
}
