package wake_test

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/postgres"
	"github.com/weftrun/weft/checkpoint/redis"
	"github.com/weftrun/weft/checkpoint/sqlite"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/servertest"
	"github.com/weftrun/weft/wake"
)

// Each step opens the store anew, as another process would.
func TestOnce_OnAllStores(t *testing.T) {
	for name, address := range map[string]func(*testing.T) func() (checkpoint.Store, error){
		"sqlite": func(t *testing.T) func() (checkpoint.Store, error) {
			path := filepath.Join(t.TempDir(), "weft.db")
			return func() (checkpoint.Store, error) { return sqlite.Open(t.Context(), path) }
		},
		"redis": func(t *testing.T) func() (checkpoint.Store, error) {
			url := servertest.Redis(t)
			return func() (checkpoint.Store, error) { return redis.OpenURL(t.Context(), url) }
		},
		"postgres": func(t *testing.T) func() (checkpoint.Store, error) {
			url := servertest.Postgres(t)
			return func() (checkpoint.Store, error) {
				return postgres.Open(t.Context(), url, postgres.Config{RetryFor: time.Minute})
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			open, c := address(t), &clock{now: noon}
			process := func(do func(g *graph.Graph[log], config wake.Config)) {
				t.Helper()
				store, err := open()
				if err != nil {
					t.Fatal(err)
				}
				defer store.Close()
				timers, err := wake.Open(store)
				if err != nil {
					t.Fatal(err)
				}
				b := graph.New[log]("waits")
				b.Node("a", graph.Func(sleeps))
				b.Edge(graph.Start, "a")
				b.Edge("a", graph.End)
				g, err := b.Compile(graph.Config{Store: store, Timers: timers, Now: c.read})
				if err != nil {
					t.Fatal(err)
				}
				do(g, wake.Config{Store: store, Timers: timers, Resume: wake.Graphs(g.Untyped()), Now: c.read, Log: slog.New(slog.DiscardHandler)})
			}
			const threads = 20
			process(func(g *graph.Graph[log], _ wake.Config) {
				for i := range threads {
					if res, err := g.Invoke(t.Context(), log{}, graph.RunOptions{Thread: fmt.Sprint("t", i)}); err != nil || res.Status != graph.Interrupted {
						t.Fatalf("the turn ended %s, %v", res.Status, err)
					}
				}
			})
			for _, step := range []struct {
				after time.Duration
				want  wake.Report
			}{{time.Hour, wake.Report{}}, {2 * time.Hour, wake.Report{Resumed: threads}}, {2 * time.Hour, wake.Report{}}, {5 * time.Hour, wake.Report{Resumed: threads}}, {9 * time.Hour, wake.Report{}}} {
				c.set(step.after)
				process(func(_ *graph.Graph[log], config wake.Config) {
					if got, err := wake.Once(t.Context(), config); err != nil || got != step.want {
						t.Errorf("after %v: got %+v, %v; want %+v", step.after, got, err, step.want)
					}
				})
			}
			process(func(g *graph.Graph[log], config wake.Config) {
				s := []wake.Schedule{{Name: "file/a", Graph: "waits", Cron: "0 0 * * *"}, {Name: "file/b", Graph: "waits", Cron: "0 1 * * *"}}
				for n := 2; n >= 0; n-- {
					if err := config.Timers.Declare(t.Context(), "file/", s[:n], noon); err != nil {
						t.Fatal(err)
					}
					if all, err := config.Timers.Schedules(t.Context()); err != nil || len(all) != n {
						t.Errorf("the schedules are %+v, %v; want %d", all, err, n)
					}
				}
				for i := range threads {
					s, info, err := g.Thread(fmt.Sprint("t", i)).State(t.Context(), 0)
					if err != nil || info.Status != graph.Done || s.Log.Len() != 1 {
						t.Errorf("thread %d is %s with %v, %v", i, info.Status, s.Log.Slice(), err)
					}
				}
				if left, err := config.Timers.List(t.Context(), 10); err != nil || len(left) > 0 {
					t.Errorf("timers are left: %v, %v", left, err)
				}
			})
		})
	}
}
