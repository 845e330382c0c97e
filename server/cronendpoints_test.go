package server_test

import (
	"testing"
	"time"
)

// Requirement: Crons create runs
func TestCronEndpoints_CreateRunsWhenTheyAreDue(t *testing.T) {
	inChains(t, func(_ *testing.T, c *client, _ chan struct{}) {
		const due = `{"assistant_id":"steps","schedule":"*/10 * * * *","input":{"topic":"tea"},"metadata":{"n":1}}`
		c.do(step{request: "POST /threads/{t}/runs/crons", body: due, status: 200, want: "thread_id={t}\nenabled=true\nschedule=*/10 * * * *", save: "c=cron_id"})
		c.do(step{request: "POST /runs/crons", body: `{"assistant_id":"steps","schedule":"0 0 1 1 *","timezone":"Europe/Berlin"}`, status: 200, want: "thread_id=null", save: "other=cron_id"})
		time.Sleep(9 * time.Minute) // of fake time
		c.do(step{request: "GET /threads/{t}/runs", status: 200, want: "#=0"})
		time.Sleep(12 * time.Minute)
		c.do(step{request: "GET /threads/{t}/runs", status: 200, want: "#.status=[\"success\",\"success\"]\n0.kwargs.input.topic=tea"})
		c.do(step{request: "PATCH /runs/crons/{c}", body: `{"enabled":false}`, status: 200, want: "enabled=false\nnext_run_date=null"})
		time.Sleep(time.Hour)
		c.do(step{request: "GET /threads/{t}/runs", status: 200, want: "#=2"})

		c.do(step{request: "GET /runs/crons/{c}", status: 200, want: "metadata.n=1"})
		c.do(step{request: "POST /runs/crons/search", body: `{"thread_id":"{t}"}`, status: 200, want: "#.cron_id=[\"{c}\"]"})
		c.do(step{request: "POST /runs/crons/count", body: `{}`, status: 200, want: "=2"})
		c.do(step{request: "DELETE /runs/crons/{c}", status: 204})
		for _, s := range []step{
			{request: "GET /runs/crons/{c}", status: 404, want: "code=cron_not_found"},
			{request: "PATCH /runs/crons/{c}", body: `{}`, status: 404},
			{request: "DELETE /runs/crons/{c}", status: 404},
			{request: "GET /runs/crons/x", status: 422},
			{request: "PATCH /runs/crons/{other}", body: `{"timezone":"Nowhere"}`, status: 422},
			{request: "PATCH /runs/crons/{other}", body: `{"assistant_id":"nothing"}`, status: 404},
			{request: "POST /runs/crons/search", body: `{"limit":0}`, status: 422},
			{request: "POST /runs/crons", body: `{"assistant_id":"steps"}`, status: 422},
			{request: "POST /runs/crons", body: `{"assistant_id":"steps","schedule":"x"}`, status: 422},
			{request: "POST /runs/crons", body: `{"assistant_id":"nothing","schedule":"* * * * *"}`, status: 404},
			{request: "POST /runs/crons", body: `{"assistant_id":"steps","schedule":"* * * * *","on_run_completed":"x"}`, status: 422},
			{request: "POST /threads/" + unknownID + "/runs/crons", body: due, status: 404},
			{request: "GET /runs/" + unknownID + "/nothing", status: 404, want: "code=not_found"},
		} {
			c.do(s)
		}
	})
}
