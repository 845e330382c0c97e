package thread_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

// A state that replaces a loaded one, and whose reply was lost, is stored. Its session goes on from
// it.
func TestReplace_LostReply(t *testing.T) {
	type (
		session = thread.Session[points]
		loaded  = thread.Thread[points]
	)
	calls := map[string]func(ctx context.Context, s *session, t *loaded, n int) error{
		"SetState": func(ctx context.Context, s *session, t *loaded, n int) error {
			return s.SetState(ctx, "t", t.State.Next(points{n}))
		},
		"SetState of any version": func(ctx context.Context, s *session, _ *loaded, n int) error {
			return s.SetState(ctx, "t", &thread.State[points]{Data: &points{n}})
		},
		"Update": func(ctx context.Context, s *session, t *loaded, n int) error { return s.Update(ctx, t, points{n}) },
		"Init": func(ctx context.Context, s *session, t *loaded, n int) error {
			return s.Init(ctx, t, func() points { return points{n} })
		},
		"Update of a copy": func(ctx context.Context, s *session, t *loaded, n int) error {
			c := *t
			err := s.Update(ctx, &c, points{n})
			if err == nil && c.State.Version != uint64(n) {
				return fmt.Errorf("the copy has version %d, want %d", c.State.Version, n)
			}
			return err
		},
	}
	for name, call := range calls {
		for _, tries := range [][]int{{1, 1}, {1, 2}, {1, 2, 3}, {1, 1, 2, 2}, {1, 2, 2, 3}} {
			if name == "Init" && len(tries) > 3 {
				continue // after a success it does nothing
			}
			t.Run(fmt.Sprint(name, tries), func(t *testing.T) {
				ctx, lost := t.Context(), false
				m, s, th := losingSession(t, &lost)
				last := tries[len(tries)-1]
				for i, n := range tries {
					lost = i < len(tries)-1 && !slices.Contains(tries[:i], n)
					err := call(ctx, s, th, n)
					if lost && !errors.Is(err, checkpoint.ErrUnknownOutcome) || !lost && err != nil {
						t.Fatalf("rule: a session has no conflict with its own state\n call %d of %v: %v", i, tries, err)
					}
				}
				if th.State == nil || th.State.Data.N != last || th.State.Version != uint64(last) {
					t.Fatalf("loaded: got %+v, want %d of version %d", th.State, last, last)
				}
				th.State.Data.N = 10
				if err := s.SaveIfModified(ctx, "t"); err != nil {
					t.Fatal(err)
				}
				now, err := m.Begin().Load(ctx, "t")
				if err != nil || now.State.Data.N != 10 || now.State.Version != uint64(last)+1 {
					t.Errorf("stored: got %+v, %v; want 10 of version %d", now.State, err, last+1)
				}
			})
		}
	}
}

// A lost SetState does not make a later SaveIfModified conflict, and a state of another session
// does.
func TestReplace_LostReplyThenSave(t *testing.T) {
	for _, other := range []bool{false, true} {
		ctx, lost := t.Context(), false
		m, s, th := losingSession(t, &lost)
		lost = true
		if err := s.Update(ctx, th, points{1}); !errors.Is(err, checkpoint.ErrUnknownOutcome) {
			t.Fatalf("got %v, want an ErrUnknownOutcome", err)
		}
		lost = false
		if other {
			if err := m.Begin().SetState(ctx, "t", &thread.State[points]{Data: &points{7}}); err != nil {
				t.Fatal(err)
			}
		}
		th.State = th.State.Next(points{2})
		if err := s.SaveIfModified(ctx, "t"); errors.Is(err, thread.ErrConflict) != other || err != nil && !other {
			t.Errorf("another session saved: %v, got %v", other, err)
		}
		if err := s.Update(ctx, th, points{3}); errors.Is(err, thread.ErrConflict) != other || err != nil && !other {
			t.Errorf("another session saved: %v, an update: %v", other, err)
		}
	}
}

// losingSession returns a session that has loaded a thread. Its store loses replies while lost
// is true.
func losingSession(t *testing.T, lost *bool) (*thread.Manager[points], *thread.Session[points], *thread.Thread[points]) {
	t.Helper()
	m, err := thread.NewManager(thread.NewRepository[points](losing{new(document.Map), lost}), thread.Options{Strategy: thread.Implicit})
	if err == nil {
		err = m.SetConfig(t.Context(), "t", thread.Config{})
	}
	if err != nil {
		t.Fatal(err)
	}
	s := m.Begin()
	th, err := s.Load(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	return m, s, th
}
