package thread_test

import (
	"bytes"
	"errors"
	"log/slog"
	"testing"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/conversation/thread"
)

// A conflict at the end of a successful run is returned. After a failed run it is logged.
func TestRun_ConflictIsReturnedOrLogged(t *testing.T) {
	ctx := t.Context()
	for name, failed := range map[string]error{"run succeeds": nil, "run fails": errors.New("the run failed")} {
		t.Run(name, func(t *testing.T) {
			var docs document.Map
			var logged bytes.Buffer
			opts := thread.Options{Strategy: thread.Implicit, Logger: slog.New(slog.NewTextHandler(&logged, nil))}
			m, err := thread.NewManager(thread.NewRepository[quest](&docs), opts)
			if err != nil {
				t.Fatal(err)
			}
			if err := m.SetConfig(ctx, "t1", thread.Config{}); err != nil {
				t.Fatal(err)
			}
			// play adds a coin. Before its run ends, it calls meanwhile.
			play := func(meanwhile func() error) error {
				return m.Run(ctx, func(s *thread.Session[quest]) error {
					th, err := s.Load(ctx, "t1")
					if err == nil {
						err = s.Init(ctx, th, func() quest { return quest{Room: "hall"} })
					}
					if err != nil {
						return err
					}
					th.State.Data.Coins++
					return meanwhile()
				})
			}
			err = play(func() error {
				if err := play(func() error { return nil }); err != nil {
					t.Errorf("the run in between: %v", err)
				}
				return failed
			})
			want, lines := thread.ErrConflict, 0
			if failed != nil {
				want, lines = failed, 1
			}
			if !errors.Is(err, want) {
				t.Errorf("got the error %v, want %v", err, want)
			}
			if got := bytes.Count(logged.Bytes(), []byte("\n")); got != lines {
				t.Errorf("got %d lines in the log, want %d:\n%s", got, lines, logged.String())
			}
		})
	}
}
