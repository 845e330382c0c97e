package server_test

import "testing"

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
			{request: "POST /threads/{t}/runs", body: `{"assistant_id":"steps","webhook":"http://x"}`, status: 422},
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
			{request: "GET /threads/{t}/state", status: 200, want: "values.topic=z\nnext=[]"},
			{request: "POST /threads/{t}/state", body: `{"values":{},"as_node":"nothing"}`, status: 422, want: "code=unknown_node"},
			{request: "POST /threads/{t}/state", body: `{"values":{"topic":7}}`, status: 422},
			{request: "POST /threads/{t}/state", body: `{"values":"x"}`, status: 422},
			{request: "POST /threads/{t}/state/checkpoint", body: `{"checkpoint":{"checkpoint_ns":"a:b"}}`, status: 422},
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
			{request: "DELETE /threads/{t}", status: 204},
			{request: "GET /threads/{t}/runs", status: 404},
		} {
			c.do(s)
		}
	})
}
