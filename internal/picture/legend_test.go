package picture

import (
	"regexp"
	"strings"
	"testing"

	"github.com/weftrun/weft/graph"
	h "github.com/weftrun/weft/internal/markup"
)

// A script shows the items of states that come later.
func TestLiveLegend_HasAllStates(t *testing.T) {
	legend := h.String(LiveLegend(&Run{Marks: map[string]Mark{"a": {State: Done}}}))
	if !strings.Contains(legend, `<li id="legend-done"><svg`) || !strings.Contains(legend, `<li id="legend-retrying" hidden`) {
		t.Errorf("got %s", legend)
	}
}

func TestChartLegend_HasTheStatesOfTheBars(t *testing.T) {
	legend := h.String(ChartLegend([]Span{{State: Failed}, {State: Retrying}, {State: Failed}}))
	if strings.Count(legend, "<li>") != 2 || !strings.Contains(legend, words[Retrying]) || !strings.Contains(legend, `class="state-failed"`) {
		t.Errorf("got %s", legend)
	}
	if got := ChartLegend(nil); got != nil && h.String(got) != "" {
		t.Errorf("without bars got %s", h.String(got))
	}
}

// The ground behind a label is written after the line that it hides.
func TestLabels_HaveAGround(t *testing.T) {
	d := graph.Drawing{Graph: "g", Nodes: []graph.DrawnNode{{ID: "a", Name: "a", Kind: "router"}, {ID: "b", Name: "b", Kind: "node"}},
		Edges: []graph.DrawnEdge{{From: "a", To: "b", Kind: "choice", Label: "it is done"}}}
	svg := New(d).SVG(Options{})
	if !regexp.MustCompile(`<path class="line"[^\n]*<rect class="back"[^\n]*<text class="label"`).MatchString(svg) {
		t.Errorf("a label has no ground above its line:\n%s", svg)
	}
}
