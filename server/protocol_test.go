package server_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	"github.com/tidwall/gjson"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/checkpoint/topic"
	"github.com/weftrun/weft/server"
)

// open sends a request whose answer does not end, and returns what it has once nothing happens any
// more.
func (c *client) open(s step) string {
	c.t.Helper()
	method, path, _ := strings.Cut(c.expand(s.request), " ")
	ctx, cancel := context.WithCancel(c.t.Context())
	r := httptest.NewRequestWithContext(ctx, method, path, strings.NewReader(c.expand(s.body)))
	for line := range strings.Lines(s.header) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	ended := make(chan struct{})
	go func() { c.handler.ServeHTTP(w, r); close(ended) }()
	synctest.Wait()
	select {
	case <-ended:
		c.t.Errorf("%s %s has ended with %d: %s", s.request, s.body, w.Code, w.Body)
	default:
	}
	cancel()
	<-ended
	if w.Code != s.status {
		c.t.Errorf("%s %s: status %d, want %d", s.request, s.body, w.Code, s.status)
	}
	return w.Body.String()
}

// methods returns the events of the protocol, each as "seq-less" method, namespace and a part of
// the data.
func methods(body, part string) (list []string) {
	for line := range strings.Lines(body) {
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		text := gjson.Get(data, "method").String()
		for _, segment := range gjson.Get(data, "params.namespace").Array() {
			node, _, _ := strings.Cut(segment.String(), ":")
			text += " " + node
		}
		list = append(list, strings.TrimSpace(text+" "+gjson.Get(data, part).Raw))
	}
	return list
}

// lateEnds are documents that do not store the end of a run that asks until end is closed.
type lateEnds struct {
	document.Store
	end chan struct{}
}

func (l lateEnds) late(ctx context.Context, changes ...document.Change) error {
	for _, c := range changes {
		if bytes.Contains(c.Value, []byte(`"waiting":true`)) {
			select {
			case <-l.end:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	return nil
}

func (l lateEnds) Set(ctx context.Context, p document.Place, c document.Change) (document.Doc, error) {
	if err := l.late(ctx, c); err != nil {
		return document.Doc{}, err
	}
	return l.Store.Set(ctx, p, c)
}

func (l lateEnds) Batch(ctx context.Context, p document.Place, changes []document.Change) ([]document.Doc, error) {
	if err := l.late(ctx, changes...); err != nil {
		return nil, err
	}
	return l.Store.Batch(ctx, p, changes)
}

// A client sees a question before the end of its run is stored. On a busy machine that takes longer
// than the client, whose answer must not become a new input.
func TestCommands_AnswerComesBeforeTheEndOfTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := make(chan struct{})
		store := &checkpoint.Memory{}
		s, stop := startChains(t, store, nil, func(c *server.Config) { c.Documents = lateEnds{&document.Map{}, end} })
		defer stop()
		c := newClient(t, s)
		c.saved["t"] = "11111111-2222-4333-8444-555555555555"
		const commands = "POST /threads/{t}/commands"
		c.do(step{request: commands, body: `{"id":1,"method":"run.start","params":{"assistant_id":"asks","input":{"topic":"tea"}}}`, status: 200, save: "r=result.run_id"})
		synctest.Wait()
		c.do(step{request: "GET /threads/{t}/runs/{r}", status: 200, want: "status=running"})
		c.do(step{request: commands, body: `{"id":2,"method":"run.start","params":{"assistant_id":"asks","input":"one"}}`, status: 200, save: "r=result.run_id"})
		close(end)
		c.do(step{request: "GET /threads/{t}/runs/{r}/join", status: 200, want: `log=["plan","ask one","publish"]`})
	})
}

// Requirement: The protocol of threads: commands
func TestCommands_EveryMethodAndError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, stop := nestingServer(t)
		defer stop()
		c.saved["new"] = "11111111-2222-4333-8444-555555555555"
		const commands = "POST /threads/{t}/commands"
		wait := func() { synctest.Wait() }
		for _, s := range []step{
			{request: commands, body: `{"id":1`, status: 400, want: "type=error\nid=null\nerror=invalid_argument"},
			{request: commands, body: `{"id":"x","method":"state.get"}`, status: 400, want: "id=null"},
			{request: commands, body: `{"id":1}`, status: 400},
			{request: commands, body: `{"id":7,"method":"nothing"}`, status: 200, want: "type=error\nid=7\nerror=unknown_command"},
			{request: commands, body: `{"id":1,"method":"subscription.subscribe","params":{"channels":[]}}`, status: 200, want: "error=not_supported"},
			{request: commands, body: `{"id":1,"method":"run.start","params":{"assistant_id":"nothing"}}`, status: 200, want: "error=invalid_argument"},
			{request: commands, body: `{"id":1,"method":"run.start","params":[]}`, status: 200, want: "error=invalid_argument"},
			{request: commands, body: `{"id":1,"method":"agent.getTree"}`, status: 200, want: "result.tree.children=[]\nmeta.thread_id={t}\nmeta.applied_through_seq=0"},
			{request: "POST /threads/x/commands", body: `{"id":1,"method":"state.get"}`, status: 422},

			{request: "POST /threads/{new}/commands", body: `{"id":2,"method":"run.start","params":{"assistant_id":"asks","input":{"topic":"tea"}}}`, status: 200,
				want: "type=success\nid=2\nmeta.thread_id={new}", save: "r=result.run_id"},
			{request: "GET /threads/{new}/runs/{r}/join", status: 200, save: "q=__interrupt__.0.id"},
			{request: "GET /threads/{new}", status: 200, want: "status=interrupted"},
			{request: "POST /threads/{new}/commands", body: `{"id":3,"method":"input.respond","params":{"interrupt_id":"nothing","response":"x"}}`, status: 200, want: "error=no_such_interrupt"},
			{request: "POST /threads/{new}/commands", body: `{"id":3,"method":"input.respond","params":{}}`, status: 200, want: "error=invalid_argument"},
			{request: "POST /threads/{new}/commands", body: `{"id":3,"method":"input.respond","params":{"namespace":[],"interrupt_id":"{q}","response":"one"}}`, status: 200, want: "type=success\nresult={}"},
		} {
			c.do(s)
		}
		wait()
		for _, s := range []step{
			{request: "GET /threads/{new}/state", status: 200, want: `values.log=["plan","ask one","publish"]`},
			// An input is the answer while a question is open.
			{request: "POST /threads/{new}/commands", body: `{"id":4,"method":"run.start","params":{"assistant_id":"asks","input":{"topic":"more"}}}`, status: 200, save: "r=result.run_id"},
			{request: "GET /threads/{new}/runs/{r}/join", status: 200},
			{request: "POST /threads/{new}/commands", body: `{"id":5,"method":"run.start","params":{"assistant_id":"asks","input":"two"}}`, status: 200, save: "r=result.run_id"},
			{request: "GET /threads/{new}/runs/{r}/join", status: 200, want: `log=["plan","ask one","publish","plan","ask two","publish"]`},
			{request: "POST /threads/{new}/commands", body: `{"id":6,"method":"state.get","params":{"namespace":[],"keys":["topic"]}}`, status: 200,
				want: `result.values={"topic":"more"}` + "\nresult.checkpoint.ns=[]"},
			{request: "POST /threads/{new}/commands", body: `{"id":6,"method":"state.get","params":{"namespace":["x:y"]}}`, status: 200, want: "error=no_such_namespace"},
			{request: "POST /threads/{new}/commands", body: `{"id":7,"method":"state.listCheckpoints","params":{"limit":2}}`, status: 200, want: "result.checkpoints.#=2", save: "c=result.checkpoints.1.id"},
			{request: "POST /threads/{new}/commands", body: `{"id":7,"method":"state.listCheckpoints","params":{"before":"{c}","limit":1}}`, status: 200, want: "result.checkpoints.#=1"},
			{request: "POST /threads/{new}/commands", body: `{"id":8,"method":"state.fork","params":{"checkpoint_id":"{c}"}}`, status: 200, want: "result.thread_id={new}", save: "r=result.run_id"},
			{request: "GET /threads/{new}/runs/{r}/join", status: 200, want: `log.#=6`},
			{request: "POST /threads/{new}/commands", body: `{"id":8,"method":"state.fork","params":{"checkpoint_id":"` + unknownID + `"}}`, status: 200, want: "error=no_such_checkpoint"},
			{request: "POST /threads/{new}/commands", body: `{"id":8,"method":"state.fork"}`, status: 200, want: "error=invalid_argument"},
			{request: "POST /threads/{new}/commands", body: `{"id":9,"method":"input.inject","params":{"message":{"role":"user","content":"psst"}}}`, status: 200, save: "r=result.run_id"},
			{request: "GET /threads/{new}/runs/{r}/join", status: 200, want: `messages.#.content=["psst"]`},
			{request: "POST /threads/{new}/commands", body: `{"id":9,"method":"input.inject","params":{}}`, status: 200, want: "error=invalid_argument"},
			{request: "POST /threads/{new}/commands", body: `{"id":9,"method":"input.inject","params":{"namespace":["a"],"message":{}}}`, status: 200, want: "error=not_supported"},

			{request: "POST /threads/{t}/runs/wait", body: `{"assistant_id":"nests","input":{"messages":"hi"}}`, status: 200},
			{request: "POST /threads/{t}/commands", body: `{"id":1,"method":"agent.getTree"}`, status: 200, want: "result.tree.graph_name=nests\nresult.tree.status=interrupted\n" +
				"result.tree.children.#.graph_name=[\"mid\"]\nresult.tree.children.0.children.#.graph_name=[\"inner\"]\nresult.tree.children.0.children.0.children=[]"},
		} {
			c.do(s)
		}
	})
}

// Requirement: The protocol of threads: events
func TestEvents_OfAThread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, stop := nestingServer(t)
		defer stop()
		const events = "POST /threads/{t}/stream/events"
		c.do(step{request: events, body: `{"channels":["nothing"]}`, status: 422})
		c.do(step{request: events, body: `{"channels":["values"],"more":1}`, status: 400})
		if body := c.open(step{request: events, body: `{"channels":["values"]}`, status: 200}); strings.Contains(body, "data:") {
			t.Errorf("a thread that never ran has the events %s", body)
		}
		c.do(step{request: "POST /threads/{t}/runs/wait", body: `{"assistant_id":"nests","input":{"messages":"hi"}}`, status: 200})
		all := c.open(step{request: events, body: `{"channels":["lifecycle"]}`, status: 200})
		checkLines(t, "the lifecycle", methods(all, "params.data.event"), `lifecycle "running"`, `lifecycle sub "started"`, `lifecycle sub deep "started"`,
			`lifecycle sub deep "interrupted"`, `lifecycle sub "interrupted"`, `lifecycle "interrupted"`)
		ids := idsOf(all)
		rest := c.open(step{request: events, body: `{"channels":["lifecycle"],"since":` + ids[4] + `}`, status: 200})
		checkLines(t, "the rest", methods(rest, "params.data.event"), `lifecycle "interrupted"`)
		deep := c.open(step{request: "POST /threads/{t}/stream", body: `{"channels":["updates"],"namespaces":[["sub","deep"]]}`, status: 200})
		checkLines(t, "the updates of a namespace", methods(deep, "params.data"), `updates sub deep {"city":"Paris"}`)
	})
}

func TestThreadStream_ShowsEveryRun(t *testing.T) {
	inChains(t, func(t *testing.T, c *client, _ chan struct{}) {
		for range 2 {
			c.do(step{request: "POST /threads/{t}/runs/wait", body: `{"assistant_id":"steps","input":{"topic":"x"},"stream_mode":"updates"}`, status: 200})
		}
		const stream = "GET /threads/{t}/stream"
		run := []string{`metadata {"run_id":"ID","attempt":1}`, `updates {"plan":{"log":["plan"]}}`, `updates {"write":{"log":["write"]}}`,
			`updates {"publish":{"log":["publish"]}}`, `metadata {"status":"run_done","run_id":"ID"}`}
		read := func(query, after string) (list []string) {
			w := httptest.NewRecorder()
			w.Body.WriteString(c.open(step{request: stream + query, header: after, status: 200}))
			return events(w)
		}
		checkLines(t, "all runs", read("", "Last-Event-ID: -1"), append(append([]string{}, run...), run...)...)
		checkLines(t, "new runs", read("", ""))
		checkLines(t, "the lifecycle", read("?stream_mode=lifecycle", "Last-Event-ID: -1"), run[0], run[4], run[0], run[4])
		ids := idsOf(c.open(step{request: stream, header: "Last-Event-ID: -1", status: 200}))
		checkLines(t, "the rest", read("", "Last-Event-ID: "+ids[4]), run...)
		if states := read("?stream_mode=state_update", "Last-Event-ID: -1"); len(states) != 2*(4+2) {
			t.Errorf("the states are %v", states)
		}
		c.do(step{request: stream + "?stream_mode=nothing", status: 422})
		c.do(step{request: stream, header: "Last-Event-ID: x", status: 422})
		c.do(step{request: "GET /threads/" + unknownID + "/stream", status: 404})
	})
}

func TestProtocol_OthersDoNotSeeAThread(t *testing.T) {
	keys := &server.Keys{}
	keys.Add("ada", "key-a")
	keys.Add("bob", "key-b")
	s, stop := startChains(t, &checkpoint.Memory{}, nil, func(c *server.Config) {
		c.Auth = server.Auth{Authenticate: keys.Authenticate, Rules: server.Owners}
	})
	defer stop()
	c := newClient(t, s)
	c.do(step{request: "POST /threads/" + unknownID + "/commands", header: "X-Api-Key: key-a", body: `{"id":1,"method":"agent.getTree"}`, status: 200})
	c.do(step{request: "GET /threads/" + unknownID, header: "X-Api-Key: key-a", status: 200, want: "metadata.owner=ada"})
	for _, request := range []string{"POST /threads/" + unknownID + "/commands", "POST /threads/" + unknownID + "/stream/events", "GET /threads/" + unknownID + "/stream"} {
		c.do(step{request: request, body: `{"id":1,"method":"agent.getTree"}`, header: "X-Api-Key: key-b", status: 404})
		c.do(step{request: request, body: `{"id":1,"method":"agent.getTree"}`, status: 401})
	}
	web := httptest.NewServer(s)
	defer web.Close()
	url := "ws" + strings.TrimPrefix(web.URL, "http") + "/threads/" + unknownID + "/stream/events"
	if _, res, err := websocket.Dial(t.Context(), url, nil); err == nil || res.StatusCode != http.StatusUnauthorized {
		t.Errorf("a socket without credentials: %v, %v", res, err)
	}
	conn, _, err := websocket.Dial(t.Context(), url+"?token=key-b", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := conn.Read(t.Context()); websocket.CloseStatus(err) != 4404 {
		t.Errorf("a socket of another owner is closed with %v", err)
	}
	if _, res, err := websocket.Dial(t.Context(), url+"?token=key-a", &websocket.DialOptions{HTTPHeader: http.Header{"Origin": {"https://evil.example.com"}}}); err == nil || res.StatusCode != http.StatusForbidden {
		t.Errorf("a socket of another origin: %v, %v", res, err)
	}
}

// Requirement: The protocol of threads: WebSocket
func TestSocket_CommandsAndEvents(t *testing.T) {
	s, stop := startChains(t, &checkpoint.Memory{}, nil)
	defer stop()
	web := httptest.NewServer(s)
	defer web.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	conn, _, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(web.URL, "http")+"/threads/"+unknownID+"/stream/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.CloseNow() }()
	send := func(text string) {
		t.Helper()
		if err := conn.Write(ctx, websocket.MessageText, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	// until reads frames to the first that has a value, and returns all.
	until := func(path, value string) (frames []string) {
		t.Helper()
		for {
			_, data, err := conn.Read(ctx)
			if err != nil {
				t.Fatalf("after %v: %v", frames, err)
			}
			frames = append(frames, string(data))
			if gjson.GetBytes(data, path).String() == value {
				return frames
			}
		}
	}
	last := func(frames []string) string { return frames[len(frames)-1] }
	send(`{"id":1,"method":"subscription.subscribe","params":{"channels":["lifecycle","values"]}}`)
	if ack := last(until("id", "1")); gjson.Get(ack, "result.replayed_events").Raw != "0" || gjson.Get(ack, "result.subscription_id").String() == "" {
		t.Errorf("the answer to the subscription is %s", ack)
	}
	send(`{"id":2,"method":"run.start","params":{"assistant_id":"steps","input":{"topic":"x"}}}`)
	var stored int
	for _, frame := range until("params.data.event", "completed") {
		if gjson.Get(frame, "type").String() == "event" {
			stored++
		}
	}
	send(`{"id":3,"method":"subscription.subscribe","params":{"channels":["lifecycle","values"]}}`)
	ack := last(until("id", "3"))
	if got := int(gjson.Get(ack, "result.replayed_events").Int()); got != stored || stored < 5 {
		t.Errorf("%d events are replayed, want %d", got, stored)
	}
	replayed := until("params.data.event", "completed")
	if len(replayed) != stored {
		t.Errorf("%d events came again, want %d", len(replayed), stored)
	}
	send(`{"id":4,"method":"subscription.unsubscribe","params":{"subscription_id":"` + gjson.Get(ack, "result.subscription_id").String() + `"}}`)
	until("id", "4")
	for text, want := range map[string]string{
		`{"id":5,"method":"subscription.unsubscribe","params":{"subscription_id":"x"}}`: "no_such_subscription",
		`{"id":6,"method":"subscription.subscribe","params":{"channels":["x"]}}`:        "invalid_argument",
		`{"id":7,"method":"nothing"}`: "unknown_command",
		`{"method":"nothing"}`:        "invalid_argument",
	} {
		send(text)
		until("error", want)
	}
	send(`{"id":8,"method":"agent.getTree"}`)
	if tree := last(until("id", "8")); gjson.Get(tree, "result.tree.status").String() != "completed" {
		t.Errorf("the tree is %s", tree)
	}
}

// brokenBus is a bus that cannot be read while it is broken.
type brokenBus struct {
	topic.Local
	broken atomic.Bool
}

func (b *brokenBus) Last(ctx context.Context, name string) (uint64, error) {
	if b.broken.Load() {
		return 0, errors.New("the bus is broken")
	}
	return b.Local.Last(ctx, name)
}

func TestSocket_AFailedSubscriptionLeavesNoPlaceTaken(t *testing.T) {
	bus := &brokenBus{}
	s, stop := startChains(t, &checkpoint.Memory{}, nil, func(c *server.Config) { c.Bus, c.Log = bus, slog.New(slog.DiscardHandler) })
	defer stop()
	web := httptest.NewServer(s)
	defer web.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	conn, _, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(web.URL, "http")+"/threads/"+unknownID+"/stream/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.CloseNow() }()
	subscribe := func(want string) {
		t.Helper()
		err := conn.Write(ctx, websocket.MessageText, []byte(`{"id":1,"method":"subscription.subscribe","params":{"channels":["values"]}}`))
		if err != nil {
			t.Fatal(err)
		}
		_, data, err := conn.Read(ctx)
		if err != nil || gjson.GetBytes(data, "type").String() != want {
			t.Fatalf("a subscription is answered with %s and %v, want %s", data, err, want)
		}
	}
	bus.broken.Store(true)
	for range 40 {
		subscribe("error")
	}
	bus.broken.Store(false)
	for range 32 {
		subscribe("success")
	}
	subscribe("error")
}

// A client of the protocol waits for the end of each run, also of one that never began.
func TestProtocol_RunThatNeverBeganEnds(t *testing.T) {
	later := step{request: "POST /threads/{t}/runs", body: `{"assistant_id":"steps","input":{"topic":"late"},"after_seconds":100}`, status: 200, save: "r=run_id"}
	for _, cancel := range []step{
		{request: "POST /threads/{t}/runs/{r}/cancel", status: 202},
		{request: "POST /threads/{t}/runs/{r}/cancel?action=rollback", status: 202},
		{request: "POST /threads/{t}/runs/wait", body: `{"assistant_id":"steps","input":{"topic":"new"},"multitask_strategy":"interrupt"}`, status: 200},
	} {
		inChains(t, func(t *testing.T, c *client, gate chan struct{}) {
			cancelled := func(want int) {
				t.Helper()
				time.Sleep(time.Second) // of fake time
				body := c.open(step{request: "POST /threads/{t}/stream/events", body: `{"channels":["lifecycle"]}`, status: 200})
				if n := strings.Count(body, `"event":"completed","graph_name":"steps","cancelled":true`); n != want {
					t.Errorf("%s: %d runs were cancelled, want %d:\n%s", cancel.request, n, want, body)
				}
			}
			c.do(later)
			c.do(cancel)
			cancelled(1)
			c.do(step{request: "POST /threads/{t}/runs", body: `{"assistant_id":"waits","input":{"topic":"tea"}}`, status: 200})
			time.Sleep(time.Second)
			c.do(later)
			c.do(step{request: "POST /threads/{t}/runs/{r}/cancel", status: 202})
			cancelled(1) // the end of a run beside another one would look like that of the other
			close(gate)
		})
	}
}
