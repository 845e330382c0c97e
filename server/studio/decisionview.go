package studio

import (
	"cmp"
	"encoding/json"

	"github.com/weftrun/weft/graph"
	h "github.com/weftrun/weft/internal/markup"
)

// decisionWords are what people read for the result of a decision.
var decisionWords = map[graph.DecisionType]string{
	graph.DecisionApprove: "approved", graph.DecisionEdit: "approved with changes", graph.DecisionReject: "rejected", graph.DecisionRespond: "answered",
	graph.DecisionDecline: "declined", graph.DecisionExpire: "expired", graph.DecisionDiscard: "discarded", graph.DecisionChange: "changed by hand",
}

// decisionWord is what people read for the result of a decision.
func decisionWord(t graph.DecisionType) string { return cmp.Or(decisionWords[t], string(t)) }

// decidedOf returns the value of a decision as JSON: the approved arguments, or an answer. It is
// nil if there is none, if the word has it all, and if it is secret.
func decidedOf(d graph.DecisionRecord) json.RawMessage {
	switch {
	case d.Secret:
		return nil
	case d.Type == graph.DecisionEdit && d.Args != nil:
		return d.Args
	case d.Type == graph.DecisionRespond, d.Type == graph.DecisionExpire:
		return d.Value
	}
	return nil
}

// decidedValue shows the value of a decision.
func decidedValue(d graph.DecisionRecord) h.Part {
	value := decidedOf(d)
	if d.Secret {
		return h.Span(h.Class("muted"), h.Text("secret"))
	}
	return h.If(value != nil, fieldOf("", orNothing(value)).value())
}

// resultOf is the result of a decision in a sentence.
func resultOf(d graph.DecisionRecord) string {
	if value := decidedOf(d); len(value) > 0 && len(value) <= maxLine {
		return decisionWord(d.Type) + ", " + string(value)
	}
	return decisionWord(d.Type)
}
