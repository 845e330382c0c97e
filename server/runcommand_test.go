package server_test

import "testing"

func TestRun_CommandUpdatesAndGoes(t *testing.T) {
	inChains(t, func(_ *testing.T, c *client, _ chan struct{}) {
		c.do(step{request: "POST /threads/{t}/runs/wait", body: `{"assistant_id":"steps","input":{"topic":"tea"}}`, status: 200})
		c.do(step{request: "POST /threads/{t}/runs/wait", body: `{"assistant_id":"steps","command":{"update":{"topic":"milk"},"goto":"publish"}}`, status: 200,
			want: "topic=milk\nlog=[\"plan\",\"write\",\"publish\",\"publish\"]"})
		c.do(step{request: "POST /threads/{t}/runs/wait", body: `{"assistant_id":"steps","command":{"goto":["nothing"]}}`, status: 200, want: "__error__.message=graph: undeclared target"})
		// A resume and an update are one commit.
		c.do(step{request: "POST /threads", status: 200, save: "t=thread_id"})
		c.do(step{request: "POST /threads/{t}/runs/wait", body: `{"assistant_id":"asks","input":{"topic":"tea"}}`, status: 200})
		c.do(step{request: "POST /threads/{t}/runs/wait", body: `{"assistant_id":"asks","command":{"resume":"x","update":[["topic","milk"]]}}`, status: 200,
			want: "topic=milk\nlog=[\"plan\",\"ask x\",\"publish\"]"})
	})
}

func TestRun_StopsAtBreakpoints(t *testing.T) {
	inChains(t, func(_ *testing.T, c *client, _ chan struct{}) {
		c.do(step{request: "POST /threads/{t}/runs/wait", body: `{"assistant_id":"steps","input":{"topic":"tea"},"interrupt_before":["write"]}`, status: 200,
			want: "log=[\"plan\"]\n__interrupt__=[]"})
		c.do(step{request: "GET /threads/{t}", status: 200, want: "status=interrupted\ninterrupts.@values=[[]]"})
		c.do(step{request: "GET /threads/{t}/state", status: 200, want: "next=[\"write\"]"})
		c.do(step{request: "POST /threads/{t}/runs/wait", body: `{"assistant_id":"steps","interrupt_after":"*"}`, status: 200, want: "log=[\"plan\",\"write\"]\n__interrupt__=[]"})
		c.do(step{request: "POST /threads/{t}/runs/wait", body: `{"assistant_id":"steps","input":null}`, status: 200, want: "log=[\"plan\",\"write\",\"publish\"]\n__interrupt__="})
		c.do(step{request: "GET /threads/{t}", status: 200, want: "status=idle\ninterrupts="})
		// Nothing is due: the run succeeds and changes nothing.
		c.do(step{request: "POST /threads/{t}/runs/wait", body: `{"assistant_id":"steps","input":null}`, status: 200, want: "log=[\"plan\",\"write\",\"publish\"]"})
		c.do(step{request: "GET /threads/{t}/runs", status: 200, want: "#.status=[\"success\",\"success\",\"success\",\"success\"]"})
		// The turn runs again from the checkpoint before its input, but for the first turn.
		c.do(step{request: "POST /threads/{t}/runs/wait", body: `{"assistant_id":"steps","input":{"topic":"milk"}}`, status: 200})
		c.do(step{request: "GET /threads/{t}/history", status: 200, save: "before=4.checkpoint.checkpoint_id\nfirst=9.checkpoint.checkpoint_id"})
		c.do(step{request: "GET /threads/{t}/state/{before}", status: 200, want: "next=[\"__start__\"]\nvalues.topic=tea"})
		c.do(step{request: "POST /threads/{t}/runs/wait", body: `{"assistant_id":"steps","checkpoint":{"checkpoint_id":"{before}"}}`, status: 200,
			want: "topic=milk\nlog=[\"plan\",\"write\",\"publish\",\"plan\",\"write\",\"publish\"]"})
		c.do(step{request: "POST /threads/{t}/runs", body: `{"assistant_id":"steps","checkpoint_id":"{first}"}`, status: 409})
	})
}

func TestThread_BeginsWithSupersteps(t *testing.T) {
	inChains(t, func(_ *testing.T, c *client, _ chan struct{}) {
		c.do(step{request: "POST /threads", status: 200, body: `{"metadata":{"graph_id":"steps"},"supersteps":[
			{"updates":[{"values":{"topic":"tea"},"as_node":"__input__"}]},{"updates":[{"values":{"topic":"tea"},"as_node":"__start__"}]},
			{"updates":[{"values":{"log":["plan"]},"as_node":"plan"}]}]}`, want: "status=idle\nvalues.log=[\"plan\"]", save: "t=thread_id"})
		c.do(step{request: "GET /threads/{t}/state", status: 200, want: "next=[\"write\"]\nvalues.topic=tea"})
		c.do(step{request: "POST /threads/{t}/runs/wait", body: `{"assistant_id":"steps","input":null}`, status: 200, want: "log=[\"plan\",\"write\",\"publish\"]"})
		c.do(step{request: "GET /threads/{t}/history", status: 200, want: "#.metadata.step=[3,2,1,0,-1]"})
		c.do(step{request: "POST /threads/count", body: `{}`, status: 200, want: "=2"})
		c.do(step{request: "POST /threads", body: `{"metadata":{"graph_id":"steps"},"supersteps":[{"updates":[{"values":{},"as_node":"nothing"}]}]}`, status: 422})
		c.do(step{request: "POST /threads", body: `{"supersteps":[{"updates":[{"values":{}}]}]}`, status: 422})
		c.do(step{request: "POST /threads/count", body: `{}`, status: 200, want: "=2"})
	})
}
