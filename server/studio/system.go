package studio

import (
	"encoding/json"
	"fmt"

	"github.com/weftrun/weft/checkpoint"
	h "github.com/weftrun/weft/internal/markup"
)

// showSystem is the page of the server itself.
func showSystem(r *request) (view, error) {
	s, err := r.source.System(r.Context())
	if err != nil {
		return view{}, err
	}
	queue := h.Text("this process does not count them")
	if s.Queue.Counted {
		queue = h.Text(fmt.Sprintf("%d wait, %d run", s.Queue.Pending, s.Queue.Running))
	}
	auth := "callers need a key or a token"
	if !s.Auth {
		auth = "every caller is accepted"
	}
	findings := muted("The store cannot be asked about itself, or has no finding.")
	if len(s.Findings) > 0 {
		findings = scroll("Table of findings", h.Table(heads("Severity", "Subject", "Value", "What it means"), h.Tbody(h.Each(s.Findings, func(f checkpoint.Finding) h.Part {
			return h.Tr(h.Td(h.Text(f.Severity.String())), h.Th(h.Scope("row"), h.Text(f.Subject)), h.Td(h.Class("wide"), h.Text(f.Value)),
				h.Td(h.Class("wide"), h.Text(f.Cost), h.If(f.Advice != "", h.Small(h.Class("hint"), h.Text("do: "+f.Advice)))))
		}))))
	}
	report, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return view{}, err
	}
	return view{"/system", "System", h.Parts{
		section("server", "Server", factsTable(
			fact("Version", h.Text(s.Version)), fact("Go", h.Text(s.Go+", "+s.Platform)), fact("Started", moment(s.Started)), fact("Graphs", h.Text(fmt.Sprint(s.Graphs))),
			fact("Access", h.Text(auth)), fact("Requests that follow runs", h.Text(fmt.Sprint(s.Queue.Streams))),
		)),
		section("queue", "Queue", factsTable(fact("Runs", queue), h.If(!s.Queue.Oldest.IsZero(), fact("The oldest was created", moment(s.Queue.Oldest)))), copied("weft runs")),
		section("store", "Store", factsTable(fact("Kind", h.Code(h.Text(s.Store)))), findings, copied("weft doctor")),
		section("report", "Report of a mistake", muted("This has no secrets, no names of threads and no values."), h.Custom("weft-copy", h.Code(h.Class("report"), h.Text(string(report))))),
	}}, nil
}
