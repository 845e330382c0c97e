package eventlog_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/postgres"
	"github.com/weftrun/weft/checkpoint/redis"
	"github.com/weftrun/weft/checkpoint/sqlite"
	"github.com/weftrun/weft/checkpoint/topic"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/eventlog"
	"github.com/weftrun/weft/internal/servertest"
	"github.com/weftrun/weft/state"
)

type count struct {
	N state.Sum[int] `json:"n"`
}

// run runs a graph of three steps that emit, and writes its events. It returns them as text.
func run(t *testing.T, store checkpoint.Store, log eventlog.Log) (sent []string) {
	t.Helper()
	b := graph.New[count]("count")
	b.Node("add", graph.Router(func(ctx context.Context, s *count) (graph.Command, error) {
		s.N.Add(1)
		if s.N.Get() == 3 {
			return graph.Goto(graph.End), nil
		}
		return graph.Goto("add"), graph.Emit(ctx, s.N.Get())
	}, "add", graph.End))
	b.Edge(graph.Start, "add")
	g, err := b.Compile(graph.Config{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	h := g.Start(t.Context(), count{}, graph.RunOptions{Thread: "t1", Hold: true})
	w := log.Writer("t1", h.ID(), 1)
	for ev, err := range h.Join(eventlog.Reader()) {
		if err != nil {
			t.Fatal(err)
		}
		if w.Write(ev); ev.Mode != graph.Ended {
			sent = append(sent, text(t, ev))
		}
	}
	w.End()
	if err := w.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	return sent
}

func text(t *testing.T, ev graph.Event) string {
	t.Helper()
	data, err := ev.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// Requirement: events: a log for other processes
func TestLog_HasTheEventsOnEachBus(t *testing.T) {
	for name, open := range map[string]func(t *testing.T) (checkpoint.Store, topic.Bus, error){
		"memory": func(*testing.T) (checkpoint.Store, topic.Bus, error) {
			return new(checkpoint.Memory), new(topic.Local), nil
		},
		"sqlite": func(t *testing.T) (checkpoint.Store, topic.Bus, error) {
			s, err := sqlite.Open(t.Context(), t.TempDir()+"/weft.db")
			if err != nil {
				return nil, nil, err
			}
			bus, err := s.Bus(t.Context(), 0)
			return s, bus, err
		},
		"redis": func(t *testing.T) (checkpoint.Store, topic.Bus, error) {
			s, err := redis.OpenURL(t.Context(), servertest.Redis(t))
			if err != nil {
				return nil, nil, err
			}
			return s, s.Bus(0), nil
		},
		"postgres": func(t *testing.T) (checkpoint.Store, topic.Bus, error) {
			s, err := postgres.Open(t.Context(), servertest.Postgres(t), postgres.Config{RetryFor: time.Minute})
			if err != nil {
				return nil, nil, err
			}
			bus, err := s.Bus(t.Context(), 0)
			return s, bus, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, bus, err := open(t)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			log := eventlog.Log{Bus: bus}
			live := make(chan []string)
			go func() { live <- follow(t, log, 0) }()
			sent := run(t, s, log)
			if got := <-live; !slices.Equal(got, sent) {
				t.Errorf("a reader beside the run got\n%s\nwant\n%s", got, sent)
			}
			if got := follow(t, log, 0); !slices.Equal(got, sent) {
				t.Errorf("a reader after the run got\n%s\nwant\n%s", got, sent)
			}
			last, err := log.Last(t.Context(), "t1") // on a busy machine all may be one batch
			if err != nil {
				t.Fatal(err)
			}
			if got := follow(t, log, last-1); !slices.Equal(got, sent[len(sent)-len(got):]) {
				t.Errorf("a reader of the last batch got\n%s\nwant the end of\n%s", got, sent)
			}
		})
	}
}

// follow returns the events of the batches after a position, up to the end of the run.
func follow(t *testing.T, log eventlog.Log, after uint64) (got []string) {
	for b, err := range log.Follow(t.Context(), "t1", after) {
		if err != nil || b.Position != after+1 {
			return append(got, fmt.Sprintf("batch %d, error %v", b.Position, err))
		}
		after = b.Position
		for _, ev := range b.Events {
			data, err := ev.MarshalJSON()
			if err != nil {
				return append(got, err.Error())
			}
			got = append(got, string(data))
		}
		if b.End {
			break
		}
	}
	return got
}
