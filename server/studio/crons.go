package studio

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	h "github.com/weftrun/weft/internal/markup"
)

// cron is a run that is started by a schedule.
type cron struct {
	ID        string          `json:"cron_id"`
	Assistant string          `json:"assistant_id"`
	Thread    string          `json:"thread_id"`
	Schedule  string          `json:"schedule"`
	Zone      string          `json:"timezone"`
	Next      time.Time       `json:"next_run_date"`
	End       time.Time       `json:"end_time"`
	Enabled   bool            `json:"enabled"`
	Payload   json.RawMessage `json:"payload"`
}

// listCrons is a page of the list of crons.
func listCrons(r *request) (view, error) {
	offset, err := r.number("offset", 1<<31)
	if err != nil {
		return view{}, err
	}
	query := map[string]any{"limit": more, "offset": offset}
	var found []cron
	if err := r.source.Do(r.Context(), http.MethodPost, "/runs/crons/search", query, &found); err != nil {
		return view{}, err
	}
	var assistants []assistant
	if err := r.source.Do(r.Context(), http.MethodPost, "/assistants/search", map[string]any{"limit": recordsPage}, &assistants); err != nil {
		return view{}, err
	}
	names := map[string]string{}
	for _, a := range assistants {
		names[a.ID] = a.Name
	}
	list, another := cutPage(found)
	var body h.Part = h.P(h.Text("No run is scheduled."))
	if len(list) > 0 {
		body = scroll("Table of crons", h.Table(heads("Schedule", "Assistant", "Thread", "Next run", "Ends", "Input", "Actions"),
			h.Tbody(h.Each(list, func(c cron) h.Part { return r.cronRow(c, names[c.Assistant]) }))))
	}
	options := h.Each(assistants, func(a assistant) h.Part { return h.Option(h.Value(a.ID), h.Text(a.Name)) })
	return view{"/crons", "Crons", h.Parts{
		muted("A cron starts a run at the times of its schedule, such as */15 * * * *."),
		body, r.around("/crons", offset, len(list), another), r.mention(http.MethodPost, "/runs/crons/search", query),
		r.writeForm("New cron", r.base+"/crons", h.Div(h.Class("fields"),
			h.Label(h.Text("Assistant "), h.Select(h.Name("assistant"), options)), textField("Schedule", "schedule", "", true), textField("Time zone, such as Europe/Oslo", "timezone", "", false),
			textField("Thread; without one each run has a new one", "thread", "", false), jsonField("Input", "input", "")), send("main", "Create the cron")),
	}}, nil
}

// cronRow is a cron in the table.
func (r *request) cronRow(c cron, name string) h.Part {
	if name == "" {
		name = c.Assistant
	}
	var payload struct {
		Input json.RawMessage `json:"input"`
	}
	_ = json.Unmarshal(c.Payload, &payload) // it may have no input
	next := moment(c.Next)
	if !c.Enabled {
		next = h.Text("off")
	}
	on, change := "false", "Turn off"
	if !c.Enabled {
		on, change = "true", "Turn on"
	}
	path := r.base + escapedPath("crons", c.ID)
	return h.Tr(
		h.Th(h.Scope("row"), h.Code(h.Text(c.Schedule)), h.If(c.Zone != "", h.Text(" "+c.Zone))),
		h.Td(link(r.assistantPath(c.Assistant), name)), h.Td(h.If(c.Thread != "", link(r.threadPath(c.Thread), c.Thread))),
		h.Td(next), h.Td(h.If(!c.End.IsZero(), moment(c.End))), h.Td(h.Class("wide"), h.If(len(payload.Input) > 0, fieldOf("", payload.Input).value())),
		h.Td(h.If(r.write, h.Div(h.Class("buttons"),
			h.Form(h.Method("post"), h.Action(path), hidden("enabled", on), h.Button(h.Aria("label", change+": "+c.Schedule), h.Text(change))),
			h.Form(h.Method("post"), h.Action(path+"/delete"), h.Label(h.Text("Its schedule, to delete it "), h.Input(h.Name("schedule"), h.Autocomplete("off"), h.Required(true))), h.Text(" "),
				h.Button(h.Class("danger"), h.Aria("label", "Delete: "+c.Schedule), h.Text("Delete")))))),
	)
}

func createCron(r *request) (view, string, error) {
	form := r.PostForm
	body := map[string]any{"assistant_id": form.Get("assistant"), "schedule": strings.TrimSpace(form.Get("schedule"))}
	if zone := strings.TrimSpace(form.Get("timezone")); zone != "" {
		body["timezone"] = zone
	}
	input, err := r.object("input")
	if err != nil {
		return view{}, "", err
	}
	if input != nil {
		body["input"] = input
	}
	path := "/runs/crons"
	if thread := strings.TrimSpace(form.Get("thread")); thread != "" {
		path = escapedPath("threads", thread) + path
	}
	return view{}, r.base + "/crons", r.source.Do(r.Context(), http.MethodPost, path, body, nil)
}

func changeCron(r *request) (view, string, error) {
	body := map[string]any{"enabled": r.PostForm.Get("enabled") == "true"}
	return view{}, r.base + "/crons", r.source.Do(r.Context(), http.MethodPatch, "/runs/crons/"+url.PathEscape(r.PathValue("id")), body, nil)
}

func deleteCron(r *request) (view, string, error) {
	at := "/runs/crons/" + url.PathEscape(r.PathValue("id"))
	var c cron
	if err := r.source.Do(r.Context(), http.MethodGet, at, nil, &c); err != nil {
		return view{}, "", err
	}
	if typed := strings.TrimSpace(r.PostForm.Get("schedule")); typed != c.Schedule {
		return view{}, "", &requestError{http.StatusUnprocessableEntity, fmt.Sprintf("type the schedule to confirm (got %.100q)", typed)}
	}
	return view{}, r.base + "/crons", r.source.Do(r.Context(), http.MethodDelete, at, nil, nil)
}
