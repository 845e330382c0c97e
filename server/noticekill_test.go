package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/checkpoint/memory"
	"github.com/weftrun/weft/checkpoint/topic"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/storetest"
	"github.com/weftrun/weft/server"
	"github.com/weftrun/weft/wake"
)

// A server dies at each of its writes, before and after it is done, while it stores and sends
// notices. Another one sends the rest: each notice once, but for one whose sender died.
func TestWork_NoticesSurviveDeathAtEachWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for n, whole := 1, false; !whole; n++ {
			for _, done := range []bool{false, true} {
				whole = newNagged(t).diesAt(n, done)
			}
			if whole && n < 10 {
				t.Errorf("the server made only %d writes", n-1)
			}
		}
	})
}

// nagged is a thread with a question that reminds every minute and escalates after 90 seconds.
type nagged struct {
	*testing.T
	store checkpoint.Memory
	docs  document.Map
	items memory.Map
	bus   topic.Local

	asked time.Time
	sent  map[wake.Kind]map[time.Time][]string // the ids of the deliveries
}

func newNagged(t *testing.T) *nagged {
	n := &nagged{T: t, asked: time.Now(), sent: map[wake.Kind]map[time.Time][]string{wake.Reminder: {}, wake.Escalation: {}}}
	if _, err := n.graph(new(storetest.Life)).Invoke(t.Context(), nap{}, graph.RunOptions{Thread: "t1"}); err != nil {
		t.Fatal(err)
	}
	return n
}

func (n *nagged) graph(l *storetest.Life) *graph.Graph[nap] {
	n.Helper()
	b := graph.New[nap]("nags")
	b.Node("ask", graph.Func(func(ctx context.Context, _ *nap) error {
		_, err := graph.Ask[string](ctx, graph.Question{
			Prompt: "Sure?", To: "ann", Remind: time.Minute, Escalate: []graph.Escalation{{After: 90 * time.Second, To: "ben"}},
		})
		return err
	}))
	b.Edge(graph.Start, "ask")
	b.Edge("ask", graph.End)
	g, err := b.Compile(graph.Config{Store: l.Memory(&n.store), Timers: wake.Over(l.Documents(&n.docs))})
	if err != nil {
		n.Fatal(err)
	}
	return g
}

// serve lets a server work for a time. One that dies while it starts does nothing.
func (n *nagged) serve(l *storetest.Life, d time.Duration) {
	n.Helper()
	notices := http.NewServeMux()
	notices.HandleFunc("POST /notices", func(_ http.ResponseWriter, r *http.Request) {
		var got wake.Notice
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
			n.Error(err)
		}
		n.sent[got.Kind][got.At] = append(n.sent[got.Kind][got.At], r.Header.Get("X-Weft-Delivery"))
	})
	s, err := server.New(n.Context(), server.Config{
		Store: l.Memory(&n.store), Documents: l.Documents(&n.docs), Memory: &n.items, Bus: &n.bus,
		Graphs: map[string]graph.Untyped{"nags": n.graph(l).Untyped()}, Routes: notices,
		Webhooks: server.Webhooks{Notify: "/notices"}, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		if !l.Ended() {
			n.Fatal(err)
		}
		return
	}
	ctx, stop := context.WithTimeout(n.Context(), d)
	defer stop()
	s.Work(ctx, server.Workers{Drain: time.Second})
}

// diesAt lets a server die at its write number. It returns true if the server makes fewer.
func (n *nagged) diesAt(number int, done bool) (whole bool) {
	first := &storetest.Life{Left: number, Done: done}
	n.serve(first, 100*time.Second)
	second := new(storetest.Life)
	n.serve(second, 100*time.Second)
	name := fmt.Sprintf("death at write %d, done %t", number, done)
	for kind, after := range map[wake.Kind]time.Duration{wake.Reminder: time.Minute, wake.Escalation: 90 * time.Second} {
		if len(n.sent[kind][n.asked.Add(after).UTC()]) == 0 {
			n.Errorf("%s: the %s %v after the question is lost; got %v", name, kind, after, n.sent)
		}
	}
	again := 0
	for kind, times := range n.sent {
		for at, ids := range times {
			again += len(ids) - 1
			for _, id := range ids {
				if id != ids[0] {
					n.Errorf("%s: the %s of %v has several ids: %v", name, kind, at, ids)
				}
			}
		}
	}
	if again > 1 || again > 0 && !first.Ended() {
		n.Errorf("%s: %d notices were sent again; got %v", name, again, n.sent)
	}

	if _, err := n.graph(second).Resume(n.Context(), graph.Answer("", "yes"), graph.RunOptions{Thread: "t1"}); err != nil {
		n.Fatal(err)
	}
	before := fmt.Sprint(n.sent)
	n.serve(second, 10*time.Minute)
	if after := fmt.Sprint(n.sent); after != before {
		n.Errorf("%s: after the answer there were %s, before %s", name, after, before)
	}
	return !first.Ended()
}
