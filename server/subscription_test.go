package server_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
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

// socketClient is a client of the protocol on a WebSocket.
type socketClient struct {
	t      *testing.T
	ctx    context.Context
	conn   *websocket.Conn
	events []string // that were read while the client waited for an answer
}

func dialSocket(t *testing.T, web *httptest.Server, thread string) *socketClient {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	conn, _, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(web.URL, "http")+"/threads/"+thread+"/stream/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.CloseNow() })
	return &socketClient{t: t, ctx: ctx, conn: conn}
}

func (c *socketClient) read() string {
	c.t.Helper()
	_, data, err := c.conn.Read(c.ctx)
	if err != nil {
		c.t.Fatalf("after %v: %v", c.events, err)
	}
	return string(data)
}

// next returns the next event.
func (c *socketClient) next() (event string) {
	c.t.Helper()
	if len(c.events) == 0 {
		return c.read()
	}
	event, c.events = c.events[0], c.events[1:]
	return event
}

// untilEnd returns the events to the end of a run.
func (c *socketClient) untilEnd() (events []string) {
	c.t.Helper()
	for {
		events = append(events, c.next())
		if gjson.Get(events[len(events)-1], "params.data.event").String() == "completed" {
			return events
		}
	}
}

// ask sends a command with the id 1, and returns its answer.
func (c *socketClient) ask(method, params string) string {
	c.t.Helper()
	text := `{"id":1,"method":"` + method + `","params":` + params + `}`
	if err := c.conn.Write(c.ctx, websocket.MessageText, []byte(text)); err != nil {
		c.t.Fatal(err)
	}
	for {
		frame := c.read()
		if gjson.Get(frame, "type").String() != "event" {
			return frame
		}
		c.events = append(c.events, frame)
	}
}

// eventIDs returns the ids of events.
func eventIDs(events []string) (ids []string) {
	for _, event := range events {
		ids = append(ids, gjson.Get(event, "event_id").String())
	}
	return ids
}

// twoServers returns servers of chains on one store, as two processes have it.
func twoServers(t *testing.T, keep int) (first, second *httptest.Server) {
	t.Helper()
	store, docs, bus := &checkpoint.Memory{}, &document.Map{}, &topic.Local{Keep: keep}
	share := func(c *server.Config) { c.Documents, c.Bus = docs, bus }
	for _, web := range []**httptest.Server{&first, &second} {
		s, stop := startChains(t, store, nil, share)
		t.Cleanup(stop)
		*web = httptest.NewServer(s)
		t.Cleanup((*web).Close)
	}
	return first, second
}

func TestSocket_ReconnectRestoresSubscriptions(t *testing.T) {
	first, second := twoServers(t, 0)
	run := `{"assistant_id":"steps","input":{"topic":"x"}}`
	old := dialSocket(t, first, unknownID)
	life := gjson.Get(old.ask("subscription.subscribe", `{"channels":["lifecycle"]}`), "result.subscription_id").String()
	updates := gjson.Get(old.ask("subscription.subscribe", `{"channels":["updates"],"depth":0}`), "result.subscription_id").String()
	started := gjson.Get(old.ask("run.start", run), "result.run_id").String()
	old.untilEnd()
	_ = old.conn.CloseNow()

	// What a client that has no event gets.
	all := dialSocket(t, first, unknownID)
	all.ask("subscription.subscribe", `{"channels":["lifecycle"]}`)
	events := eventIDs(all.untilEnd())
	if len(events) != 2 {
		t.Fatalf("the lifecycle has the events %v, want two", events)
	}
	for _, id := range events { // from these, hooks know whose end an end is
		if !strings.HasPrefix(id, "synth:"+started+":") {
			t.Errorf("the event %s does not name the run %s", id, started)
		}
	}

	c := dialSocket(t, second, unknownID)
	answer := c.ask("subscription.reconnect", `{"run_id":"`+started+`","last_event_id":"`+events[0]+`","subscriptions":["`+life+`","`+updates+`"]}`)
	if result := gjson.Get(answer, "result"); !result.Get("restored").Bool() || result.Get("missed_events").Int() != 0 || result.Get("replayed_events").Int() != 4 ||
		result.Get("current_namespaces").Raw != `[{"namespace":[],"status":"completed"}]` {
		t.Errorf("the answer to reconnect is %s, want the subscriptions with 4 events", answer)
	}
	var methods []string
	for range 4 {
		event := c.next()
		methods = append(methods, gjson.Get(event, "method").String()+" "+gjson.Get(event, "params.data.event").String()+gjson.Get(event, "params.node").String())
	}
	checkLines(t, "the rest of the run", methods, "lifecycle completed", "updates plan", "updates write", "updates publish")
	c.ask("run.start", run)
	if ids := eventIDs(c.untilEnd()); slices.Contains(ids, events[1]) {
		t.Errorf("event %s comes twice: %v", events[1], ids)
	}
	for name, want := range map[string]string{
		`{"subscriptions":["` + life + `"]}`:                           "invalid_argument", // it is open
		`{"subscriptions":["` + life + `"],"run_id":"nothing"}`:        "no_such_run",
		`{"subscriptions":["` + life + `"],"last_event_id":"x"}`:       "invalid_argument",
		`{"subscriptions":["` + life + `"],"last_event_id":"-1"}`:      "invalid_argument",
		`{"subscriptions":["` + life + `"],"last_event_id":"a:1"}`:     "invalid_argument",
		`{"subscriptions":["` + life + `"],"last_event_id":"synth:1"}`: "invalid_argument",
		`{"subscriptions":"` + life + `"}`:                             "invalid_argument",
	} {
		if answer := c.ask("subscription.reconnect", name); gjson.Get(answer, "error").String() != want {
			t.Errorf("reconnect with %s: %s, want %s", name, answer, want)
		}
	}
	// One of another server is not known, and then none is restored.
	for _, params := range []string{`{}`, `{"subscriptions":["` + updates + `x","x"]}`, `{"subscriptions":["` + unknownID + `"]}`,
		`{"subscriptions":["` + updates + `"],"last_event_id":"99999999999999"}`} {
		if answer := c.ask("subscription.reconnect", params); gjson.Get(answer, "result.restored").Raw != "false" {
			t.Errorf("reconnect with %s: %s, want it not restored", params, answer)
		}
	}
	// The id is free after an unsubscribe, also while the old subscription ends.
	for range 20 {
		if answer := c.ask("subscription.unsubscribe", `{"subscription_id":"`+life+`"}`); gjson.Get(answer, "type").String() != "success" {
			t.Fatalf("unsubscribe: %s", answer)
		}
		if answer := c.ask("subscription.reconnect", `{"subscriptions":["`+life+`"]}`); gjson.Get(answer, "result.replayed_events").Int() != 4 {
			t.Fatalf("reconnect after unsubscribe: %s", answer)
		}
	}
}

func TestSocket_ReconnectReportsWhatIsGone(t *testing.T) {
	web, _ := twoServers(t, 8)
	c := dialSocket(t, web, unknownID)
	id := gjson.Get(c.ask("subscription.subscribe", `{"channels":["lifecycle"]}`), "result.subscription_id").String()
	var seen []string
	for range 20 {
		c.ask("run.start", `{"assistant_id":"steps","input":{"topic":"x"}}`)
		seen = append(seen, eventIDs(c.untilEnd())...)
	}
	for at, gone := range map[string]bool{"": true, seen[0]: true, seen[len(seen)-1]: false} {
		again := dialSocket(t, web, unknownID)
		answer := again.ask("subscription.reconnect", `{"last_event_id":"`+at+`","subscriptions":["`+id+`"]}`)
		if n := gjson.Get(answer, "result.missed_events").Int(); !gjson.Get(answer, "result.restored").Bool() || n > 0 != gone {
			t.Errorf("after event %q: %s, want missed events: %v", at, answer, gone)
		}
	}
}

func TestSocket_ReconnectHoldsFewEvents(t *testing.T) {
	web, _ := twoServers(t, 0)
	old := dialSocket(t, web, unknownID)
	id := gjson.Get(old.ask("subscription.subscribe", `{"channels":["lifecycle","values"]}`), "result.subscription_id").String()
	old.conn.SetReadLimit(2 << 20)
	started := old.ask("run.start", `{"assistant_id":"steps","input":{"topic":"`+strings.Repeat("x", 480<<10)+`"}}`)
	if gjson.Get(started, "type").String() != "success" {
		t.Fatalf("run.start: %.300s", started)
	}
	size := 0
	for _, event := range old.untilEnd() {
		size += len(event)
	}
	var ids []string
	for i := range 16<<20/size + 1 {
		ids = append(ids, fmt.Sprintf(`"%d%s"`, i, id))
	}
	c := dialSocket(t, web, unknownID)
	answer := c.ask("subscription.reconnect", `{"subscriptions":[`+strings.Join(ids, ",")+`]}`)
	if gjson.Get(answer, "result.restored").Raw != "false" || gjson.Get(answer, "result.replayed_events").Int() > 0 {
		t.Errorf("reconnect with %d subscriptions of %d bytes: %s, want none restored", len(ids), size, answer)
	}
}

// slowBus is a bus that does not say what it has until it may.
type slowBus struct {
	topic.Local
	once       sync.Once
	asked, may chan struct{}
}

func (b *slowBus) Last(ctx context.Context, topic string) (uint64, error) {
	b.once.Do(func() { close(b.asked) })
	<-b.may
	return b.Local.Last(ctx, topic)
}

// A server that pings a client, or that is pinged, sees the answer while it executes a command.
func TestSocket_AnswersPingsDuringACommand(t *testing.T) {
	bus := &slowBus{asked: make(chan struct{}), may: make(chan struct{})}
	s, stop := startChains(t, &checkpoint.Memory{}, nil, func(c *server.Config) { c.Bus = bus })
	t.Cleanup(stop)
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	c := dialSocket(t, web, unknownID)
	if err := c.conn.Write(c.ctx, websocket.MessageText, []byte(`{"id":1,"method":"agent.getTree"}`)); err != nil {
		t.Fatal(err)
	}
	<-bus.asked
	answer := make(chan string)
	go func() { // a ping needs a reader
		_, data, err := c.conn.Read(c.ctx)
		answer <- fmt.Sprint(string(data), err)
	}()
	if err := c.conn.Ping(c.ctx); err != nil {
		t.Errorf("a ping during a command: %v", err)
	}
	close(bus.may)
	if got := <-answer; !strings.Contains(got, `"success"`) {
		t.Errorf("the command ended with %s, want a success", got)
	}
}

// Runs of one thread may have different graphs.
func TestProtocol_ShowsTheGraphOfEachRun(t *testing.T) {
	inChains(t, func(t *testing.T, c *client, gate chan struct{}) {
		tree := func(name, status string) {
			t.Helper()
			c.do(step{request: "POST /threads/{t}/commands", body: `{"id":1,"method":"agent.getTree"}`, status: 200,
				want: "result.tree.graph_name=" + name + "\nresult.tree.status=" + status})
		}
		c.do(step{request: "POST /threads/{t}/runs/wait", body: `{"assistant_id":"steps","input":{"topic":"x"}}`, status: 200})
		tree("steps", "completed")
		c.do(step{request: "POST /threads/{t}/runs", body: `{"assistant_id":"waits","input":{"topic":"x"}}`, status: 200})
		synctest.Wait()
		c.do(step{request: "POST /threads/{t}/runs", body: `{"assistant_id":"asks","input":{"topic":"x"}}`, status: 200, save: "r=run_id"})
		tree("waits", "running") // asks has not begun
		close(gate)
		c.do(step{request: "GET /threads/{t}/runs/{r}/join", status: 200})
		tree("asks", "interrupted")
		body := c.open(step{request: "POST /threads/{t}/stream/events", body: `{"channels":["lifecycle"]}`, status: 200})
		checkLines(t, "the lifecycle", methods(body, "params.data.[event,graph_name]"),
			`lifecycle ["running","steps"]`, `lifecycle ["completed","steps"]`, `lifecycle ["running","waits"]`, `lifecycle ["completed","waits"]`,
			`lifecycle ["running","asks"]`, `lifecycle ["interrupted","asks"]`)
	})
}
