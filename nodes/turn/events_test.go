package turn_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/nodes/turn"
	"github.com/weftrun/weft/state/agent"
)

func TestNotice_IsTheFirstEventAndBeginsTheReply(t *testing.T) {
	c := config(t)
	p := turn.NewAgent(compile(t, c, &checkpoint.Memory{}), c.Manager).Untyped()
	var reported []string
	first := true
	watch := func(ev graph.Event) {
		if text, ok := ev.Payload.(turn.Notice); ok {
			reported = append(reported, string(text))
			same(t, "it is first", first, true)
		}
		first = false
	}
	for text, want := range map[string]string{
		"/planning:off rain?": "/planning:off is set for this turn.", "rain?": "", "/planning!:off": "", "/help": "",
	} {
		reported, first = nil, true
		r, err := p.Say(t.Context(), "t1", text, watch)
		must(t, err)
		same(t, text, strings.Join(reported, "|"), want)
		same(t, "it begins the reply", strings.HasPrefix(r.Text, want), true)
	}
}

// A step that runs again after a decision reports the decision.
func TestEvents_StepAfterADecisionReportsIt(t *testing.T) {
	for answer, want := range map[string]string{"yes": "- approved", `/edit {"file":"b.csv"}`: "- approved", "no, later": "- rejected"} {
		var wrote, steps []string
		g, _ := newAgent(t, turn.Config{Manager: manager(t), Capabilities: registry(t, exporting(&wrote))}, &checkpoint.Memory{})
		for _, text := range []string{"export it", answer} {
			_, err := g.Untyped().Say(t.Context(), "t1", text, func(ev graph.Event) {
				if u, ok := ev.Payload.(agent.StatusUpdate); ok && u.Node == "export" && u.Metadata["total"] != "" {
					decided := u.Metadata["decided"]
					if decided == "" {
						decided = "-"
					}
					steps = append(steps, decided)
				}
			})
			must(t, err)
		}
		same(t, answer, strings.Join(steps, " "), want)
	}
}

// Long data is not part of the question; /edit alone shows it, on several lines.
func TestEdit_LongExampleIsShownOnRequest(t *testing.T) {
	var wrote []string
	g, _ := newAgent(t, turn.Config{Manager: manager(t), Capabilities: registry(t, exporting(&wrote))}, &checkpoint.Memory{})
	r := send(t, g, "/planning:on export it")
	contains(t, r.Text, "Change it with /edit and JSON; /edit alone shows what there is to change.")
	if strings.Contains(r.Text, "{") {
		t.Errorf("JSON is in the question:\n%s", r.Text)
	}
	_, err := g.Say(t.Context(), "t1", "/edit")
	if err == nil {
		t.Fatal("an edit to nothing was taken")
	}
	_, shown, ok := strings.Cut(err.Error(), "such as\n/edit ")
	same(t, "an example", ok, true)
	var p agent.Plan
	must(t, json.Unmarshal([]byte(shown), &p))
	same(t, "the plan", p.Steps[0].Capability, "export")
	for line := range strings.Lines(shown) {
		if len(line) > 80 {
			t.Errorf("a line of %d bytes: %s", len(line), line)
		}
	}
	// The shown edit is accepted.
	r = send(t, g, "/edit "+shown)
	same(t, "status", r.Status, graph.Interrupted)
	contains(t, r.Text, "write the table")
}
