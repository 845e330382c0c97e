package server_test

import (
	"io"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/tidwall/gjson"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/server"
)

// Requirement: Endpoints of runs and states
func TestRunEndpoints_Statuses(t *testing.T) {
	inChains(t, func(_ *testing.T, c *client, _ chan struct{}) {
		const unknown = unknownID
		for _, s := range []step{
			{request: "POST /threads/{t}/runs", body: `{}`, status: 422},
			{request: "POST /threads/{t}/runs", body: `{"assistant_id":"nothing"}`, status: 404, want: "code=assistant_not_found"},
			{request: "POST /threads/{t}/runs", body: `{"assistant_id":"steps","stream_mode":"x"}`, status: 422},
			{request: "POST /threads/{t}/runs", body: `{"assistant_id":"steps","command":{}}`, status: 422},
			{request: "POST /threads/{t}/runs", body: `{"assistant_id":"steps","command":{"goto":7}}`, status: 422},
			{request: "POST /threads/{t}/runs", body: `{"assistant_id":"steps","input":7}`, status: 422},
			{request: "POST /threads/{t}/runs", body: `{"assistant_id":"steps","checkpoint_id":"` + unknown + `"}`, status: 404, want: "code=checkpoint_not_found"},
			{request: "POST /threads/{t}/runs", body: `{"assistant_id":"steps","webhook":"ftp://x"}`, status: 422},
			{request: "POST /threads/{t}/runs", body: `{"assistant_id":"steps","webhook":"http://localhost:7400/x"}`, status: 422},
			{request: "POST /threads/x/runs", body: `{"assistant_id":"steps"}`, status: 422},
			{request: "POST /threads/" + unknown + "/runs", body: `{"assistant_id":"steps","input":{}}`, status: 404, want: "code=thread_not_found"},
			{request: "GET /threads/{t}", status: 200, want: "status=idle\nvalues=null"},
			{request: "GET /threads/{t}/state", status: 200,
				want: `={"values":{},"next":[],"tasks":[],"metadata":{},"created_at":null,"checkpoint":null,"parent_checkpoint":null}`},
			{request: "GET /threads/{t}/history", status: 200, want: "=[]"},
			{request: "GET /threads/{t}/state/" + unknown, status: 404, want: "code=checkpoint_not_found"},
			{request: "GET /threads/{t}/state/x", status: 422},
			{request: "GET /threads/{t}/state?subgraphs=x", status: 422},
			{request: "GET /threads/" + unknown + "/state", status: 404},
			{request: "GET /threads/" + unknown + "/history", status: 404},
			{request: "POST /threads/{t}/state", body: `{"values":{"topic":"x"}}`, status: 422},
			{request: "POST /threads/{t}/runs/wait", body: `{"assistant_id":"steps","input":{"topic":"x"}}`, status: 200},
			{request: "POST /threads/{t}/state", body: `{"values":{"topic":"y"},"as_node":"write"}`, status: 200, want: "checkpoint.thread_id={t}", save: "c=checkpoint_id"},
			{request: "GET /threads/{t}/state?select=values.topic&select=next", status: 200, want: `={"next":["publish"],"values":{"topic":"y"}}`},
			{request: "POST /threads/{t}/state", body: `{"values":[["topic","z"]],"checkpoint":{"checkpoint_id":"{c}"}}`, status: 200},
			{request: "POST /threads/{t}/state", body: `{"values":null,"as_node":"__end__"}`, status: 200},
			{request: "PATCH /threads/{t}/state", body: `{"metadata":{"reviewed":true}}`, status: 200, save: "c=checkpoint_id"},
			{request: "GET /threads/{t}/state/{c}", status: 200, want: "metadata.reviewed=true\nmetadata.source=update\nvalues.topic=z"},
			{request: "PATCH /threads/{t}/state", body: `{"metadata":7}`, status: 422},
			{request: "PATCH /threads/" + unknown + "/state", body: `{}`, status: 404},
			{request: "GET /threads/{t}/state", status: 200, want: "values.topic=z\nnext=[]"},
			{request: "POST /threads/{t}/state", body: `{"values":{},"as_node":"nothing"}`, status: 422, want: "code=unknown_node"},
			{request: "POST /threads/{t}/state", body: `{"values":{"topic":7}}`, status: 422},
			{request: "POST /threads/{t}/state", body: `{"values":"x"}`, status: 422},
			{request: "POST /threads/{t}/state/checkpoint", body: `{"checkpoint":{"checkpoint_ns":"a:b"}}`, status: 404},
			{request: "POST /threads/{t}/history", body: `{"limit":0}`, status: 422},
			{request: "POST /threads/{t}/history", body: `{"before":"x"}`, status: 422},
			{request: "POST /threads/{t}/history", body: `{"before":"` + unknown + `"}`, status: 404},
			{request: "GET /threads/{t}/history?limit=x", status: 422},
			{request: "GET /threads/{t}/runs?limit=0", status: 422},
			{request: "GET /threads/{t}/runs?status=x", status: 422},
			{request: "GET /threads/{t}/runs?select=x", status: 422},
			{request: "GET /threads/{t}/runs/x", status: 422},
			{request: "GET /threads/{t}/runs/" + unknown, status: 404, want: "code=run_not_found"},
			{request: "GET /threads/{t}/runs/" + unknown + "/join", status: 404},
			{request: "DELETE /threads/{t}/runs/" + unknown, status: 404},
			{request: "POST /threads/{t}/runs/" + unknown + "/cancel", status: 404},
			{request: "GET /threads/{t}/runs/" + unknown + "/stream", status: 200},
			{request: "GET /runs/" + unknown + "/join", status: 404},
			{request: "POST /threads/" + unknown + "/runs/wait", body: `{"assistant_id":"steps","input":{"topic":"x"},"if_not_exists":"create"}`, status: 200, want: "topic=x"},
			{request: "GET /threads/" + unknown, status: 200, want: "metadata.graph_id=steps"},
			{request: "POST /threads/{t}/runs", body: `{"assistant_id":"waits","input":{"topic":"x"},"after_seconds":60}`, status: 200, want: "status=pending", save: "r=run_id"},
			{request: "DELETE /threads/{t}/runs/{r}", status: 204},
			{request: "GET /threads/{t}", status: 200, want: "status=idle"},
			{request: "POST /runs/batch", body: `[{"assistant_id":"steps","input":{"topic":"x"}},{"assistant_id":"steps","input":{"topic":"y"}}]`, status: 200, want: "#=2"},
			{request: "POST /runs/batch", body: `{}`, status: 422},
			{request: "POST /runs/batch", body: `[{}]`, status: 422},
			{request: "POST /threads/{t}/runs", body: `{"assistant_id":"waits","input":{"topic":"x"}}`, status: 200, save: "r=run_id"},
			{request: "POST /runs/cancel", body: `{"thread_id":"{t}","run_ids":["{r}"]}`, status: 204},
			{request: "GET /threads/{t}/runs/{r}/join", status: 200},
			{request: "GET /threads/{t}/runs/{r}", status: 200, want: "status=interrupted"},
			{request: "POST /runs/cancel", body: `{"thread_id":"{t}","status":"all"}`, status: 404},
			{request: "POST /runs/cancel", body: `{"thread_id":"{t}"}`, status: 422},
			{request: "POST /runs/cancel?action=x", body: `{"thread_id":"{t}","status":"all"}`, status: 422},
			{request: "POST /runs/cancel", body: `{"thread_id":"` + unknown + `","status":"running"}`, status: 404},
			{request: "DELETE /threads/{t}", status: 204},
			{request: "GET /threads/{t}/runs", status: 404},
		} {
			c.do(s)
		}
	})
}

// Requirement: Records of others do not exist
func TestOwners_SeeTheirRunsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keys := &server.Keys{}
		keys.Add("ada", "key-a")
		keys.Add("bob", "key-b")
		s, stop := startChains(t, &checkpoint.Memory{}, nil, func(c *server.Config) {
			c.Auth = server.Auth{Authenticate: keys.Authenticate, Rules: server.Owners}
		})
		defer stop()
		c := newClient(t, s)
		const ada, bob = "X-Api-Key: key-a", "X-Api-Key: key-b"
		const run = `{"assistant_id":"steps","input":{"topic":"tea"}}`
		c.do(step{request: "POST /threads", header: ada, status: 200, save: "t=thread_id"})
		c.do(step{request: "POST /threads/{t}/runs/wait", header: ada, body: run, status: 200, want: "topic=tea"})
		c.do(step{request: "GET /threads/{t}/runs", header: ada, status: 200, want: "0.metadata.owner=ada", save: "r=0.run_id"})
		c.do(step{request: "POST /runs", header: ada, body: run, status: 200, save: "own=run_id"})
		c.do(step{request: "GET /runs/{own}/join", header: ada, status: 200, want: "topic=tea"})
		for _, hidden := range []string{
			"GET /threads/{t}/runs", "GET /threads/{t}/runs/{r}", "GET /threads/{t}/runs/{r}/join", "DELETE /threads/{t}/runs/{r}",
			"POST /threads/{t}/runs/{r}/cancel", "GET /threads/{t}/state", "GET /threads/{t}/history", "GET /runs/{own}/join", "POST /runs/{own}/cancel",
		} {
			c.do(step{request: hidden, header: bob, status: 404})
			c.do(step{request: hidden, status: 401})
		}
		c.do(step{request: "POST /threads/{t}/runs", header: bob, body: run, status: 404})
		c.do(step{request: "POST /threads/{t}/runs", header: bob, body: `{"assistant_id":"steps","input":{},"if_not_exists":"create"}`, status: 404})
		c.do(step{request: "POST /threads/{t}/state", header: bob, body: `{"values":{"topic":"x"}}`, status: 404})
		c.do(step{request: "POST /runs/cancel", header: bob, body: `{"thread_id":"{t}","status":"all"}`, status: 404})
		checkLines(t, "the stream of a hidden run", events(c.do(step{request: "GET /threads/{t}/runs/{r}/stream", header: bob, status: 200})),
			`error {"error":"HTTPException","message":"404: Run not found"}`)
		c.do(step{request: "GET /threads/{t}/state", header: ada, status: 200, want: "values.topic=tea"})
	})
}

func TestRun_ReportsItsEndToAWebhook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reports := make(chan string, 1)
		own := http.NewServeMux()
		own.HandleFunc("POST /hook", func(_ http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			reports <- string(body)
		})
		s, stop := startChains(t, &checkpoint.Memory{}, nil, func(c *server.Config) { c.Routes = own })
		defer stop()
		c := newClient(t, s)
		c.do(step{request: "POST /runs", body: `{"assistant_id":"steps","input":{"topic":"tea"},"webhook":"/hook"}`, status: 200, save: "r=run_id"})
		body := <-reports
		got := []string{gjson.Get(body, "run_id").String(), gjson.Get(body, "status").String(), gjson.Get(body, "values.log").Raw}
		checkLines(t, "the report", got, c.saved["r"], "success", `["plan","write","publish"]`)
		for _, field := range []string{"run_started_at", "run_ended_at", "webhook_sent_at"} {
			if gjson.Get(body, field).Time().IsZero() {
				t.Errorf("%s is missing in %s", field, body)
			}
		}
	})
}
