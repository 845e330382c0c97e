package studio

import (
	"fmt"
	"net/http"
	"net/url"

	h "github.com/weftrun/weft/internal/markup"
)

// copied is a command of the command line with a button that copies it.
func copied(command string) h.Part { return h.Custom("weft-copy", h.Code(h.Text(command))) }

// actions are the forms that change the thread, each with its command.
func (p *threadPage) actions(r *request) h.Part {
	if !r.write || p.At == 0 || p.Graph == nil {
		return nil
	}
	at := h.Input(h.Type("hidden"), h.Name("at"), h.Value(fmt.Sprint(p.At)))
	form := func(name, title, text, command string, inputs ...h.Part) h.Part {
		return h.Details(h.Summary(h.Text(title)), h.Form(h.Method("post"), h.Action(r.threadPath(p.ID)+"/"+name),
			h.If(text != "", h.P(h.Text(text))), h.Parts(inputs)), h.If(command != "", copied(command)))
	}
	send := func(class, text string) h.Part {
		return h.P(h.Class("buttons"), h.Button(h.Class(class), h.Text(text)))
	}
	name := h.Label(h.Text(fmt.Sprintf("The last %d characters of its name, %s, to confirm ", leastName, lastOf(p.ID))), h.Input(h.Name("name"), h.Autocomplete("off"), h.Required(true)))
	id, here := quoted(p.ID), fmt.Sprintf("checkpoint %d", p.At)
	busy, with := p.Status == "busy", p.withFile(r)
	command := func(format string, words ...any) string {
		if with == id {
			return "" // the graph is in Go, which the command line does not have
		}
		return fmt.Sprintf(format, words...)
	}
	return h.Div(h.Class("actions"),
		h.If(busy, form("cancel", "Cancel", "Cancels the runs of the thread. What is stored stays.", "", send("danger", "Cancel the run"), r.mention(http.MethodPost, "/runs/cancel", map[string]any{"thread_id": p.ID, "status": "all"}))),
		h.If(!busy,
			h.If(p.At < p.Newest, form("fork", "Fork here", "Begins a branch at "+here+". Nothing runs, and the old branch stays.",
				command("weft fork %s --at %d", with, p.At), at, send("main", "Fork at "+here), p.act(r, "fork", map[string]any{"at": p.At}))),
			p.editForm(r),
			form("rerun", "Run again from here", "Starts a run that goes on from "+here+".",
				command("weft resume %s --at %d", with, p.At), at, send("main", "Run from "+here), p.act(r, "rerun", map[string]any{"at": p.At})),
			form("replay", "Replay with current code", "Runs each recorded step again, with all that its nodes do, and shows the first that differs. The thread is not changed.",
				command("weft replay %s --yes", with), send("main", "Run the steps again"), p.act(r, "replay", map[string]any{})),
			form("prune", "Prune", "Removes all checkpoints but the newest.", "weft prune "+id+" --keep-last 1", name, send("danger", "Prune")),
			form("delete", "Delete", "Removes the thread with its history.", "", name, send("danger", "Delete"), r.mention(http.MethodDelete, escapedPath("threads", p.ID), nil)),
			h.A(h.Class("button"), h.Href(r.graphPath(p.GraphID)+"/run?thread="+url.QueryEscape(p.ID)), h.Text("New turn")),
		),
	)
}

// lastOf returns the end of a name that must be typed to confirm.
func lastOf(id string) string { return id[max(0, len(id)-leastName):] }

// act is the request that does what a form does, whatever the graph and the store are.
func (p *threadPage) act(r *request, name string, body any) h.Part {
	return r.mention(http.MethodPost, r.base+"/api"+escapedPath("threads", p.ID, name), body)
}

// branches leads to the newest checkpoint of each branch.
func (p *threadPage) branches(r *request) h.Part {
	if len(p.Branches) < 2 {
		return nil
	}
	return h.Nav(h.Class("tabs"), h.Aria("label", "Branches"), h.Each(p.Branches, func(b branch) h.Part {
		address := r.threadPath(p.ID) + fmt.Sprintf("?at=%d", b.Newest)
		if b.Newest == p.Newest {
			address = r.threadPath(p.ID)
		}
		name := "first branch"
		if b.Begun != 0 {
			name = fmt.Sprintf("branch of %d", b.From)
		}
		return h.A(h.Href(address), h.Data("swap", ""), h.If(b.Begun == p.Commit.Branch, h.Aria("current", "true")), h.Text(fmt.Sprintf("%s, up to %d", name, b.Newest)))
	}))
}

// withFile is the thread with the file of its workflow, for the command line.
func (p *threadPage) withFile(r *request) string {
	words := quoted(p.ID)
	if r.edits != nil {
		if file, _ := r.edits.FileOf(p.GraphID); file != "" {
			words += " " + quoted(file)
		}
	}
	return words
}
