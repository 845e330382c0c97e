package server_test

import (
	"testing"
	"time"
)

func TestRun_OnAllStores(t *testing.T) {
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			s, stop := startChains(t, open(t), nil)
			defer stop()
			c := newClient(t, s)
			c.do(step{request: "POST /threads", status: 200, save: "t=thread_id"})
			w := c.do(step{request: "POST /threads/{t}/runs/stream", body: `{"assistant_id":"asks","input":{"topic":"tea"}}`, status: 200})
			want := []string{
				`metadata {"run_id":"ID","attempt":1}`,
				`values {"topic":"tea","log":[],"messages":[]}`,
				`values {"topic":"tea","log":["plan"],"messages":[]}`,
			}
			whole := events(w)
			checkLines(t, "the stream before its question", whole[:min(3, len(whole))], want...)
			path := w.Header().Get("Content-Location") + "/stream"
			checkLines(t, "the stream once more", events(c.do(step{request: "GET " + path, header: "Last-Event-ID: -1", status: 200})), whole...)
			checkLines(t, "the stream after its first event", events(c.do(step{request: "GET " + path, header: "Last-Event-ID: 0", status: 200})), whole[1:]...)
			c.do(step{request: "POST /threads/{t}/runs/wait", body: `{"assistant_id":"asks","command":{"resume":"happy"}}`, status: 200,
				want: "log=[\"plan\",\"ask happy\",\"publish\"]"})
			c.do(step{request: "GET /threads/{t}/history", status: 200, want: "#=5\n#.metadata.step=[3,2,1,0,-1]", save: "c=0.checkpoint.checkpoint_id"})
			c.do(step{request: "GET /threads/{t}/state/{c}", status: 200, want: "next=[]"})
			c.do(step{request: "POST /threads/{t}/runs", body: `{"assistant_id":"waits","input":{"topic":"tea"}}`, status: 200, save: "r=run_id"})
			c.do(step{request: "POST /threads/{t}/runs/{r}/cancel?wait=1&action=rollback", status: 204})
			c.do(step{request: "GET /threads/{t}/runs/{r}", status: 404})
			c.do(step{request: "GET /threads/{t}/state", status: 200, want: "values.log=[\"plan\",\"ask happy\",\"publish\"]\nnext=[]"})
			c.do(step{request: "POST /runs/wait", body: `{"assistant_id":"steps","input":{"topic":"tea"}}`, status: 200, want: "topic=tea"})
			c.do(step{request: "DELETE /threads/{t}", status: 204})
		})
	}
}

func TestRun_WaitSendsNewlines(t *testing.T) {
	inChains(t, func(t *testing.T, c *client, gate chan struct{}) {
		time.AfterFunc(3500*time.Millisecond, func() { close(gate) }) // of fake time
		w := c.do(step{request: "POST /threads/{t}/runs/wait", body: `{"assistant_id":"waits","input":{"topic":"tea"}}`, status: 200})
		if got, want := w.Body.String(), "\n\n\n"+`{"topic":"tea","log":["wait tea"],"messages":[]}`; got != want {
			t.Errorf("the answer is %q, want %q", got, want)
		}
	})
}
