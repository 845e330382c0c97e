package server_test

import (
	"context"
	"iter"
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint/topic"
	"github.com/weftrun/weft/server"
)

// lateBus is a bus on a machine with too much to do: a follower gets what there is when it begins,
// and nothing after.
type lateBus struct{ topic.Local }

func (b *lateBus) Follow(ctx context.Context, name string, after uint64) iter.Seq2[topic.Event, error] {
	return func(yield func(topic.Event, error) bool) {
		last, err := b.Last(ctx, name)
		if err != nil {
			return
		}
		if after < last {
			for e, err := range b.Local.Follow(ctx, name, after) {
				if !yield(e, err) {
					return
				}
				if e.Position >= last {
					break
				}
			}
		}
		<-ctx.Done()
	}
}

func TestFollowRun_ReadsTheLogToItsEnd(t *testing.T) {
	for _, s := range []struct {
		name    string
		request step
		want    string
	}{
		{"classic", step{request: "POST /threads/{t}/runs/stream", body: `{"assistant_id":"steps","input":{"topic":"tea"}}`}, `"log":["plan","write","publish"]`},
		{"AG-UI", step{request: "POST /agui/steps", body: `{"threadId":"{t}","runId":"r","messages":[],"state":{"topic":"tea"}}`}, `"log":["plan","write","publish"]`},
	} {
		t.Run(s.name, func(t *testing.T) {
			inChains(t, func(t *testing.T, c *client, _ chan struct{}) {
				s.request.status = 200
				s.request.body = strings.ReplaceAll(s.request.body, "{t}", c.saved["t"])
				if body := c.do(s.request).Body.String(); !strings.Contains(body, s.want) {
					t.Errorf("the stream lacks the last events %s:\n%s", s.want, body)
				}
			}, func(c *server.Config) { c.Bus = &lateBus{} })
		})
	}
}

func TestStream_ReportsWhatIsGone(t *testing.T) {
	inChains(t, func(t *testing.T, c *client, _ chan struct{}) {
		c.do(step{request: "POST /threads/{t}/runs/wait", body: `{"assistant_id":"steps","input":{"topic":"tea"}}`, status: 200})
		c.do(step{request: "GET /threads/{t}/runs", status: 200, save: "first=0.run_id"})
		join := step{request: "GET /threads/{t}/runs/{first}/stream?stream_mode=values", header: "Last-Event-ID: -1", status: 200}
		w := c.do(join)
		if missed := w.Header().Get("X-Weft-Missed"); missed != "" || !strings.Contains(w.Body.String(), "publish") {
			t.Errorf("a log that has all of a run misses %q:\n%s", missed, w.Body)
		}
		for range 30 {
			c.do(step{request: "POST /threads/{t}/runs/wait", body: `{"assistant_id":"steps","input":{"topic":"tea"}}`, status: 200})
		}
		for _, header := range []string{"Last-Event-ID: -1", "Last-Event-ID: 1"} {
			w := c.do(step{request: join.request, header: header, status: 200})
			if missed := w.Header().Get("X-Weft-Missed"); missed == "" {
				t.Errorf("with %s a stream whose events are gone does not report it:\n%s", header, w.Body)
			}
		}
		live := step{request: "GET /threads/{t}/stream", header: "Last-Event-ID: 1", status: 200}
		if body := c.open(live); !strings.Contains(body, "run_done") {
			t.Errorf("the stream of a thread goes on with\n%s", body)
		}
	}, func(c *server.Config) { c.Bus = &topic.Local{Keep: 20} })
}
