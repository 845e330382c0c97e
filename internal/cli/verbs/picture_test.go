package verbs_test

import (
	"os"
	"strings"
	"testing"
)

func TestGraph_PictureOfARun(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("w.yaml", chooser)
	p.must(0, "run", "w.yaml", "--thread", "t", "--input", "topic=golang")
	for _, format := range []string{"svg", "html"} {
		now, before := p.must(0, "graph", "t", "--format", format).stdout, p.must(0, "graph", "t", "--at", "2", "--format", format).stdout
		for _, want := range []string{"weigh, router, ran once,", "long, ran once,", "short, skipped", `class="edge choice taken"`} {
			if !strings.Contains(now, want) {
				t.Errorf("the %s does not hold %q:\n%s", format, want, now)
			}
		}
		for _, want := range []string{"long, due", ">short<"} {
			if !strings.Contains(before, want) {
				t.Errorf("the %s of checkpoint 2 does not hold %q:\n%s", format, want, before)
			}
		}
	}
}

func TestHistory_Page(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("w.yaml", chooser)
	p.must(0, "run", "w.yaml", "--thread", "t", "--input", "topic=golang")
	page := p.must(0, "history", "t", "--html").stdout
	for _, want := range []string{"<h1>History of t</h1>", `id="node:weigh"`, `class="weft-picture weft-timeline"`, `<td class="wide">long</td>`, "weigh, router, ran once"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not hold %q:\n%s", want, page)
		}
	}
	short := p.must(0, "history", "t", "--html", "--limit", "1").stdout
	if got := strings.Count(short, "<tr><td"); got != 1 || !strings.Contains(short, "There are older checkpoints") || !strings.Contains(short, `id="node:weigh"`) {
		t.Errorf("with --limit 1 the page lists %d checkpoints:\n%s", got, short)
	}
	if err := os.Remove(p.path("w.yaml")); err != nil {
		t.Fatal(err)
	}
	gone := p.must(0, "history", "t", "--html").stdout
	if strings.Contains(gone, `id="node:weigh"`) || !strings.Contains(gone, "which is no longer there") || !strings.Contains(gone, "weft-timeline") {
		t.Errorf("without the file the page is\n%s", gone)
	}
	if e := p.must(2, "history", "t", "--html", "--json"); !strings.Contains(e.stderr, "--json and --html are two forms") {
		t.Errorf("got %s", e.stderr)
	}
	if e := p.must(2, "history", "no", "--html"); !strings.Contains(e.stderr, `there is no thread "no"`) {
		t.Errorf("got %s", e.stderr)
	}
}
