package server_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidwall/gjson"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/server"
	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/state/message"
)

type chainState struct {
	Topic    state.Value[string] `json:"topic"`
	Log      state.List[string]  `json:"log"`
	Messages message.Log         `json:"messages"`
}

// chain compiles a graph of nodes that run one after another. Each node appends its name to the
// log; then "ask" asks, "wait" waits for gate, "fail" fails, and "speak" adds a message.
func chain(t testing.TB, store checkpoint.Store, gate <-chan struct{}, nodes ...string) graph.Untyped {
	t.Helper()
	b := graph.New[chainState]("chain")
	last := graph.Start
	for _, name := range nodes {
		b.Node(name, graph.Func(func(ctx context.Context, s *chainState) error {
			entry := name
			switch name {
			case "ask":
				answer, err := graph.Ask[string](ctx, graph.Question{Prompt: "Which end?"})
				if err != nil {
					return err
				}
				entry += " " + answer
			case "wait":
				select {
				case <-gate:
				case <-ctx.Done():
					return context.Cause(ctx)
				}
				entry += " " + s.Topic.Get()
			case "fail":
				return fmt.Errorf("the chain has no end")
			case "speak":
				m := message.Assistant("Once upon a time")
				m.ID = "ai-1"
				if err := s.Messages.Add(m); err != nil {
					return err
				}
			}
			s.Log.Append(entry)
			return nil
		}))
		b.Edge(last, name)
		last = name
	}
	b.Edge(last, graph.End)
	g, err := b.Compile(graph.Config{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	return g.Untyped()
}

// errorsOf fails a test that logs an error.
type errorsOf struct {
	slog.Handler
	t testing.TB
}

func (errorsOf) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelError }
func (h errorsOf) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool { r.Message += " " + a.String(); return true })
	h.t.Errorf("the server logs %q", r.Message)
	return nil
}

// startChains returns a server of chains that works until the function is called.
func startChains(t testing.TB, store checkpoint.Store, gate <-chan struct{}, change ...func(*server.Config)) (s *server.Server, stop func()) {
	t.Helper()
	s = newServer(t, store, func(c *server.Config) {
		c.Graphs = map[string]graph.Untyped{
			"steps": chain(t, store, gate, "plan", "write", "publish"), "asks": chain(t, store, gate, "plan", "ask", "publish"),
			"waits": chain(t, store, gate, "wait"), "fails": chain(t, store, gate, "plan", "fail"), "speaks": chain(t, store, gate, "speak"),
		}
		c.Log = slog.New(errorsOf{slog.DiscardHandler, t})
		for _, f := range change {
			f(c)
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { s.Work(ctx, server.Workers{Slots: 8}); close(ended) }()
	return s, func() { cancel(); <-ended }
}

// inChains runs a test with chains in the memory, and fake time.
func inChains(t *testing.T, test func(t *testing.T, c *client, gate chan struct{}), change ...func(*server.Config)) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		s, stop := startChains(t, &checkpoint.Memory{}, gate, change...)
		defer stop()
		c := newClient(t, s)
		c.do(step{request: "POST /threads", status: 200, save: "t=thread_id"})
		test(t, c, gate)
	})
}

var anyIDs = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// events returns the events of a stream, each on a line without its id.
func events(w *httptest.ResponseRecorder) (list []string) {
	for block := range strings.SplitSeq(strings.TrimSpace(w.Body.String()), "\n\n") {
		var name, data string
		for line := range strings.Lines(block) {
			key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
			switch key {
			case "event":
				name = value
			case "data":
				data = value
			}
		}
		if name != "" {
			list = append(list, name+" "+anyIDs.ReplaceAllString(data, "ID"))
		}
	}
	return list
}

func checkLines(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if a, b := strings.Join(got, "\n"), strings.Join(want, "\n"); a != b {
		t.Errorf("%s:\n%s\nwant\n%s", what, a, b)
	}
}

func TestRun_WaitReturnsTheState(t *testing.T) {
	inChains(t, func(t *testing.T, c *client, _ chan struct{}) {
		c.do(step{request: "POST /threads/{t}/runs/wait", body: `{"assistant_id":"steps","input":{"topic":"tea"}}`, status: 200,
			want: "topic=tea\nlog=[\"plan\",\"write\",\"publish\"]"})
		c.do(step{request: "GET /threads/{t}", status: 200, want: "status=idle\nmetadata.graph_id=steps\nvalues.topic=tea"})
		c.do(step{request: "POST /threads/search", body: `{"metadata":{"graph_id":"steps"}}`, status: 200, want: "#=1\n0.values.topic=tea"})
		c.do(step{request: "POST /threads/search", body: `{"select":["status"]}`, status: 200, want: `=[{"status":"idle"}]`})
		c.do(step{request: "GET /threads/{t}/runs", status: 200, want: "#=1\n0.status=success\nheader X-Pagination-Total=1", save: "r=0.run_id"})
		c.do(step{request: "GET /threads/{t}/runs/{r}", status: 200, want: "thread_id={t}\nkwargs.input.topic=tea\nkwargs.config.configurable.run_id={r}"})
		c.do(step{request: "GET /threads/{t}/runs/{r}/join", status: 200, want: "topic=tea"})
		c.do(step{request: "GET /threads/{t}/state", status: 200, want: "values.topic=tea\nnext=[]\nmetadata.step=3\nmetadata.run_id={r}"})
		c.do(step{request: "GET /threads/{t}/history", status: 200, want: "#=5\n#.metadata.step=[3,2,1,0,-1]\n#.next.0=[\"publish\",\"write\",\"plan\",\"__start__\"]",
			save: "c=2.checkpoint.checkpoint_id\nb=1.checkpoint.checkpoint_id"})
		c.do(step{request: "GET /threads/{t}/state/{c}", status: 200, want: "values.log=[\"plan\"]\nnext=[\"write\"]\ntasks.0.result.log=[\"write\"]"})
		c.do(step{request: "POST /threads/{t}/state/checkpoint", body: `{"checkpoint":{"checkpoint_id":"{c}"},"subgraphs":"true"}`, status: 200, want: "next=[\"write\"]"})
		c.do(step{request: "POST /threads/{t}/history", body: `{"before":{"configurable":{"checkpoint_id":"{b}"}},"limit":2}`, status: 200,
			want: "#.metadata.step=[1,0]\n0.checkpoint.checkpoint_id={c}"})
		c.do(step{request: "POST /threads/{t}/history", body: `{"metadata":{"source":"input"}}`, status: 200, want: "#.metadata.step=[-1]"})
		// The second run goes on from the checkpoint.
		c.do(step{request: "POST /threads/{t}/runs/wait", body: `{"assistant_id":"steps","checkpoint_id":"{c}"}`, status: 200,
			want: "log=[\"plan\",\"write\",\"publish\"]"})
	})
}

func TestRun_StreamsValuesAndUpdates(t *testing.T) {
	inChains(t, func(t *testing.T, c *client, _ chan struct{}) {
		w := c.do(step{request: "POST /threads/{t}/runs/stream", body: `{"assistant_id":"steps","input":{"topic":"tea"},"stream_mode":["values","updates"]}`, status: 200})
		whole := events(w)
		checkLines(t, "the stream", whole,
			`metadata {"run_id":"ID","attempt":1}`,
			`values {"topic":"tea","log":[],"messages":[]}`,
			`updates {"plan":{"log":["plan"]}}`,
			`values {"topic":"tea","log":["plan"],"messages":[]}`,
			`updates {"write":{"log":["write"]}}`,
			`values {"topic":"tea","log":["plan","write"],"messages":[]}`,
			`updates {"publish":{"log":["publish"]}}`,
			`values {"topic":"tea","log":["plan","write","publish"],"messages":[]}`,
		)
		path := w.Header().Get("Content-Location")
		if !strings.HasPrefix(path, "/threads/"+c.saved["t"]+"/runs/") || w.Header().Get("Location") != path+"/stream" {
			t.Errorf("Content-Location is %s and Location %s", path, w.Header().Get("Location"))
		}
		id := regexp.MustCompile(`(?m)^id: (\d+)$`).FindAllStringSubmatch(w.Body.String(), -1)[4][1]
		again := func(header string) []string {
			return events(c.do(step{request: "GET " + path + "/stream?stream_mode=values,updates", header: header, status: 200}))
		}
		checkLines(t, "the stream after an event", again("Last-Event-ID: "+id), whole[5:]...)
		checkLines(t, "the stream from its start", again("Last-Event-ID: -1"), whole...)
		checkLines(t, "the stream of events to come", again(""))
		c.do(step{request: "GET " + path + "/stream", header: "Last-Event-ID: x", status: 422})
		c.do(step{request: "GET " + path + "/stream?stream_mode=x", status: 422})
	})
}

// Requirement: Readers of a run reconnect
func TestRun_ReaderThatReconnectsSeesTheRest(t *testing.T) {
	inChains(t, func(t *testing.T, c *client, gate chan struct{}) {
		c.do(step{request: "POST /threads/{t}/runs", body: `{"assistant_id":"waits","input":{"topic":"tea"}}`, status: 200, want: "status=pending", save: "r=run_id"})
		time.Sleep(time.Second) // of fake time: the node waits, and the events are in the log
		got := make(chan []string)
		for _, header := range []string{"Last-Event-ID: -1", "Last-Event-ID: 0", ""} {
			go func() {
				got <- events(c.do(step{request: "GET /threads/{t}/runs/{r}/stream", header: header, status: 200}))
			}()
		}
		synctest.Wait()
		close(gate)
		lengths := map[int]int{}
		for range 3 {
			lines := <-got
			lengths[len(lines)]++
			if last := lines[len(lines)-1]; last != `values {"topic":"tea","log":["wait tea"],"messages":[]}` {
				t.Errorf("the last event is %s", last)
			}
		}
		if lengths[3] != 1 || lengths[2] != 1 || lengths[1] != 1 {
			t.Errorf("the numbers of events are %v, want 3, 2 and 1", lengths)
		}
	})
}

func TestRun_QuestionIsAnsweredByCommand(t *testing.T) {
	inChains(t, func(t *testing.T, c *client, _ chan struct{}) {
		c.do(step{request: "POST /threads/{t}/runs/wait", body: `{"assistant_id":"asks","input":{"topic":"tea"}}`, status: 200,
			want: "log=[\"plan\"]\n__interrupt__.0.value=Which end?"})
		c.do(step{request: "GET /threads/{t}", status: 200, want: "status=interrupted"})
		c.do(step{request: "GET /threads/{t}/state", status: 200, want: "next=[\"ask\"]\ntasks.0.interrupts.0.value=Which end?", save: "q=tasks.0.interrupts.0.id"})
		c.do(step{request: "GET /threads/{t}/runs", status: 200, want: "0.status=success"})
		c.do(step{request: "POST /threads/{t}/runs", body: `{"assistant_id":"asks","command":{"resume":3}}`, status: 422, want: "code=answer_refused"})
		c.do(step{request: "POST /threads/{t}/runs/wait", body: `{"assistant_id":"asks","input":{},"command":{"resume":{"{q}":"happy"}}}`, status: 200,
			want: "log=[\"plan\",\"ask happy\",\"publish\"]\n__interrupt__="})
		c.do(step{request: "GET /threads/{t}", status: 200, want: "status=idle\ninterrupts="})
		c.do(step{request: "POST /threads/{t}/runs", body: `{"assistant_id":"asks","command":{"resume":"x"}}`, status: 409, want: "code=nothing_asked"})
		c.do(step{request: "POST /threads", status: 200, save: "t=thread_id"})
		w := c.do(step{request: "POST /threads/{t}/runs/stream", body: `{"assistant_id":"asks","input":{"topic":"tea"},"stream_mode":"updates"}`, status: 200})
		checkLines(t, "the stream of a run that asks", events(w), `metadata {"run_id":"ID","attempt":1}`, `updates {"plan":{"log":["plan"]}}`,
			`updates {"__interrupt__":[{"id":"`+gjson.Get(w.Body.String()[strings.Index(w.Body.String(), `{"__interrupt__"`):], "__interrupt__.0.id").String()+`","value":"Which end?"}]}`)
		list := events(c.do(step{request: "POST /threads/{t}/runs/stream", body: `{"assistant_id":"asks","command":{"resume":"sad"}}`, status: 200}))
		checkLines(t, "the stream of a resume", list, `metadata {"run_id":"ID","attempt":1}`, `values {"topic":"tea","log":["plan"],"messages":[]}`,
			`values {"topic":"tea","log":["plan","ask sad"],"messages":[]}`, `values {"topic":"tea","log":["plan","ask sad","publish"],"messages":[]}`)
		c.do(step{request: "POST /threads/{t}/runs/wait", body: `{"assistant_id":"asks","input":{"topic":"tea"}}`, status: 200})
		// A new input drops the question.
		c.do(step{request: "POST /threads/{t}/runs/wait", body: `{"assistant_id":"asks","input":{"topic":"milk"}}`, status: 200, want: "topic=milk"})
	})
}

func TestRun_EnqueuedRunsRunInOrder(t *testing.T) {
	inChains(t, func(t *testing.T, c *client, gate chan struct{}) {
		for _, topic := range []string{"1", "2"} {
			c.do(step{request: "POST /threads/{t}/runs", body: `{"assistant_id":"waits","input":{"topic":"` + topic + `"}}`, status: 200, save: "r" + topic + "=run_id"})
		}
		synctest.Wait()
		c.do(step{request: "GET /threads/{t}", status: 200, want: "status=busy"})
		c.do(step{request: "GET /threads/{t}/runs", status: 200, want: "#.status=[\"pending\",\"running\"]"})
		c.do(step{request: "POST /threads/{t}/runs", body: `{"assistant_id":"waits","multitask_strategy":"reject"}`, status: 409, want: "code=thread_busy"})
		c.do(step{request: "POST /threads/{t}/state", body: `{"values":{"topic":"x"}}`, status: 409, want: "code=thread_busy"})
		c.do(step{request: "DELETE /threads/{t}/runs/{r1}", status: 409, want: "code=run_active"})
		close(gate)
		c.do(step{request: "GET /threads/{t}/runs/{r2}/join", status: 200, want: "log=[\"wait 1\",\"wait 2\"]"})
		c.do(step{request: "GET /threads/{t}/runs/{r1}/join", status: 200, want: "log=[\"wait 1\"]"})
		c.do(step{request: "GET /threads/{t}", status: 200, want: "status=idle"})
		c.do(step{request: "DELETE /threads/{t}/runs/{r1}", status: 204})
		c.do(step{request: "GET /threads/{t}/runs/{r1}", status: 404, want: "code=run_not_found"})
	})
}

func TestRun_IsCancelled(t *testing.T) {
	inChains(t, func(t *testing.T, c *client, _ chan struct{}) {
		start := func(name, rule string) {
			c.do(step{request: "POST /threads/{t}/runs", body: `{"assistant_id":"waits","input":{"topic":"x"},"multitask_strategy":"` + rule + `"}`, status: 200, save: name + "=run_id"})
			synctest.Wait()
		}
		start("r", "enqueue")
		start("behind", "enqueue")
		c.do(step{request: "POST /threads/{t}/runs/{r}/cancel?action=x", status: 422})
		c.do(step{request: "POST /threads/{t}/runs/{behind}/cancel?wait=1", status: 204})
		c.do(step{request: "GET /threads/{t}/runs/{behind}", status: 200, want: "status=interrupted"})
		c.do(step{request: "POST /threads/{t}/runs/{r}/cancel?wait=1", status: 204})
		c.do(step{request: "GET /threads/{t}/runs/{r}", status: 200, want: "status=interrupted"})
		c.do(step{request: "GET /threads/{t}", status: 200, want: "status=idle"})
		c.do(step{request: "POST /threads/{t}/runs/{r}/cancel", status: 202})
		c.do(step{request: "GET /threads/{t}/runs/{r}/join", status: 200, want: "topic=x\nlog=[]"})

		start("old", "enqueue")
		start("new", "interrupt")
		c.do(step{request: "GET /threads/{t}/runs/{old}", status: 200, want: "status=interrupted"})
		start("newer", "rollback")
		c.do(step{request: "GET /threads/{t}/runs/{new}", status: 404})
		c.do(step{request: "POST /threads/{t}/runs/{newer}/cancel?wait=true&action=rollback", status: 204})
		c.do(step{request: "GET /threads/{t}/runs/{newer}", status: 404})
		c.do(step{request: "GET /threads/{t}", status: 200, want: "status=idle"})
	})
}

func TestRun_CancelledWhenItsReaderGoes(t *testing.T) {
	inChains(t, func(t *testing.T, c *client, _ chan struct{}) {
		ctx, cancel := context.WithCancel(t.Context())
		w := httptest.NewRecorder()
		gone := make(chan struct{})
		go func() {
			body := strings.NewReader(`{"assistant_id":"waits","input":{"topic":"x"},"on_disconnect":"cancel"}`)
			c.handler.ServeHTTP(w, httptest.NewRequest("POST", "/threads/"+c.saved["t"]+"/runs/stream", body).WithContext(ctx))
			close(gone)
		}()
		synctest.Wait()
		cancel()
		<-gone
		path := w.Header().Get("Content-Location")
		c.do(step{request: "GET " + path + "/join", status: 200})
		c.do(step{request: "GET " + path, status: 200, want: "status=interrupted"})
	})
}

func TestRun_Fails(t *testing.T) {
	inChains(t, func(t *testing.T, c *client, _ chan struct{}) {
		c.do(step{request: "POST /threads/{t}/runs/wait", body: `{"assistant_id":"fails","input":{"topic":"x"}}`, status: 200,
			want: `={"__error__":{"error":"Error","message":"the chain has no end"}}`})
		c.do(step{request: "GET /threads/{t}", status: 200, want: "status=error\nerror.message=the chain has no end"})
		c.do(step{request: "GET /threads/{t}/runs", status: 200, want: "0.status=error"})
		list := events(c.do(step{request: "POST /threads/{t}/runs/stream", body: `{"assistant_id":"fails","input":{"topic":"x"}}`, status: 200}))
		checkLines(t, "the last event", list[len(list)-1:], `error {"error":"Error","message":"the chain has no end","weft":{"node":"fail","step":3}}`)
		c.do(step{request: "POST /threads/{t}/runs/wait", body: `{"assistant_id":"steps","input":{"topic":"x"},"config":{"recursion_limit":2}}`, status: 200,
			want: "__error__.error=GraphRecursionError"})
	})
}

func TestRun_WithoutThreadLeavesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &checkpoint.Memory{}
		s, stop := startChains(t, store, nil)
		defer stop()
		c := newClient(t, s)
		w := c.do(step{request: "POST /runs/wait", body: `{"assistant_id":"steps","input":{"topic":"tea"}}`, status: 200, want: "topic=tea"})
		path := w.Header().Get("Content-Location")
		if !strings.HasPrefix(path, "/runs/") {
			t.Errorf("Content-Location is %s", path)
		}
		list := events(c.do(step{request: "GET " + path + "/stream", header: "Last-Event-ID: -1", status: 200}))
		if len(list) != 5 {
			t.Errorf("the stream of the run has %d events, want 5: %q", len(list), list)
		}
		c.do(step{request: "POST /threads/count", body: `{}`, status: 200, want: "=0"})
		c.do(step{request: "POST /runs/wait", body: `{"assistant_id":"steps","input":{"topic":"tea"},"on_completion":"keep"}`, status: 200})
		c.do(step{request: "POST /threads/count", body: `{}`, status: 200, want: "=1"})
		time.Sleep(12 * time.Second) // of fake time
		list = events(c.do(step{request: "GET " + path + "/stream", header: "Last-Event-ID: -1", status: 200}))
		checkLines(t, "the stream of a run that was removed", list, `error {"error":"HTTPException","message":"404: Run not found"}`)
		threads := 0
		for _, err := range store.Threads(t.Context(), checkpoint.ThreadQuery{}) {
			if err != nil {
				t.Fatal(err)
			}
			threads++
		}
		if threads != 1 {
			t.Errorf("the store has %d threads, want 1", threads)
		}
	})
}

func TestRun_MessagesHaveTheFormOfClients(t *testing.T) {
	inChains(t, func(t *testing.T, c *client, _ chan struct{}) {
		w := c.do(step{request: "POST /threads/{t}/runs/stream", status: 200,
			body: `{"assistant_id":"speaks","input":{"messages":[{"role":"user","content":"Begin","id":"u1"}]},"stream_mode":["values"]}`})
		list := events(w)
		checkLines(t, "the values", list[len(list)-1:], `values {"log":["speak"],"messages":[`+
			`{"type":"human","content":"Begin","additional_kwargs":{},"response_metadata":{},"id":"u1"},`+
			`{"type":"ai","content":"Once upon a time","additional_kwargs":{},"response_metadata":{},"id":"ai-1","tool_calls":[],"invalid_tool_calls":[]}]}`)
		c.do(step{request: "POST /threads/{t}/state", body: `{"values":{"messages":"And then?"}}`, status: 200, save: "c=checkpoint_id"})
		c.do(step{request: "GET /threads/{t}/state", status: 200, want: "values.messages.#.type=[\"human\",\"ai\",\"human\"]\ncheckpoint.checkpoint_id={c}\nmetadata.source=update"})
	})
}
