package server_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/checkpoint/memory"
	"github.com/weftrun/weft/checkpoint/topic"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/server"
)

// Requirement: Readers of a run reconnect
func TestWork_RunGoesOnInAnotherProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		store, docs, items, bus := &checkpoint.Memory{}, &document.Map{}, &memory.Map{}, &topic.Local{}
		shared := func(c *server.Config) {
			c.Documents, c.Memory, c.Bus = docs, items, bus
			c.Graphs = map[string]graph.Untyped{"agent": chain(t, store, gate, "plan", "wait", "publish")}
			c.Defaults = nil
		}
		first, stopFirst := startChains(t, store, gate, shared)
		c := newClient(t, first)
		c.do(step{request: "POST /threads", status: 200, save: "t=thread_id"})
		streamed := make(chan []string)
		go func() {
			streamed <- events(c.do(step{request: "POST /threads/{t}/runs/stream", body: `{"assistant_id":"agent","input":{"topic":"tea"}}`, status: 200}))
		}()
		time.Sleep(time.Second) // of fake time: the node waits
		stopped := make(chan struct{})
		go func() { stopFirst(); close(stopped) }()
		synctest.Wait()
		close(gate)
		<-stopped
		_, stopSecond := startChains(t, store, gate, shared)
		defer stopSecond()
		checkLines(t, "the stream over two processes", <-streamed,
			`metadata {"run_id":"ID","attempt":1}`,
			`values {"topic":"tea","log":[],"messages":[]}`,
			`values {"topic":"tea","log":["plan"],"messages":[]}`,
			`values {"topic":"tea","log":["plan","wait tea"],"messages":[]}`,
			`metadata {"run_id":"ID","attempt":1}`,
			`values {"topic":"tea","log":["plan","wait tea"],"messages":[]}`,
			`values {"topic":"tea","log":["plan","wait tea","publish"],"messages":[]}`,
		)
		c.do(step{request: "GET /threads/{t}", status: 200, want: "status=idle"})
		c.do(step{request: "GET /threads/{t}/history", status: 200, want: "#=5"})
	})
}

// A process holds a run for as long as Lease without renewing its claim.
func TestWork_HoldsRunsForTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		store := &checkpoint.Memory{}
		s, stop := startChains(t, store, gate, func(c *server.Config) {
			c.Graphs = map[string]graph.Untyped{"agent": chain(t, store, gate, "wait")}
			c.Defaults, c.Lease = nil, time.Minute
		})
		c := newClient(t, s)
		c.do(step{request: "POST /threads", status: 200, save: "t=thread_id"})
		c.do(step{request: "POST /threads/{t}/runs", body: `{"assistant_id":"agent","input":{"topic":"tea"}}`, status: 200})
		synctest.Wait()
		_, err := checkpoint.Hold(t.Context(), store, c.expand("{t}"), checkpoint.HoldOptions{})
		var busy *checkpoint.BusyError
		if !errors.As(err, &busy) || busy.Remaining <= 30*time.Second || busy.Remaining > time.Minute {
			t.Errorf("Hold = %v, want a lease of another minute", err)
		}
		close(gate)
		stop()
	})
}
