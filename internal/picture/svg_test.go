package picture_test

import (
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/picture"
)

// element is an element of a parsed picture.
type element struct {
	name  string
	attrs map[string]string
	text  string // inside it, without the text of its children
}

// parse reads a picture as strict XML.
func parse(svg string) (all []element, err error) {
	d := xml.NewDecoder(strings.NewReader(svg))
	var open []int
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		switch token := token.(type) {
		case xml.StartElement:
			e := element{name: token.Name.Local, attrs: map[string]string{}}
			for _, a := range token.Attr {
				e.attrs[a.Name.Local] = a.Value
			}
			open, all = append(open, len(all)), append(all, e)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			if len(open) > 0 {
				all[open[len(open)-1]].text += string(token)
			}
		}
	}
}

func mustParse(t testing.TB, svg string) []element {
	t.Helper()
	all, err := parse(svg)
	if err != nil {
		t.Fatalf("the picture is not XML: %v\n%.2000s", err, svg)
	}
	return all
}

// byID returns the element with an id.
func byID(t testing.TB, all []element, id string) element {
	t.Helper()
	i := slices.IndexFunc(all, func(e element) bool { return e.attrs["id"] == id })
	if i < 0 {
		t.Fatalf("the picture has no element %q", id)
	}
	return all[i]
}

func TestSVG_RandomDrawings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawings(1).Draw(t, "drawing")
		svg := picture.New(d).SVG(picture.Options{Focus: rapid.Bool().Draw(t, "focus")})
		if again := picture.New(d).SVG(picture.Options{}); again != picture.New(d).SVG(picture.Options{}) {
			t.Fatal("the same drawing gave two pictures")
		}
		all, err := parse(svg)
		if err != nil {
			t.Fatalf("the picture is not XML: %v", err)
		}
		ids := map[string]bool{}
		nodes := 0
		for _, e := range all {
			if id, ok := e.attrs["id"]; ok && ids[id] {
				t.Errorf("two elements have the id %q", id)
			} else if ok {
				ids[id] = true
			}
			if strings.HasPrefix(e.attrs["class"], "node ") {
				nodes++
			}
			for _, forbidden := range []string{"style", "onclick", "onload"} {
				if _, ok := e.attrs[forbidden]; ok {
					t.Errorf("a %s has the attribute %s, which a strict policy of a page forbids", e.name, forbidden)
				}
			}
			if href := e.attrs["href"]; href != "" && !strings.HasPrefix(href, "#") {
				t.Errorf("the picture refers to %q outside of it", href)
			}
		}
		if want := len(picture.New(d).Boxes); nodes != want {
			t.Errorf("got %d nodes, want %d", nodes, want)
		}
	})
}

func TestSVG_Names(t *testing.T) {
	const name = `<script>&"'` + "\x00\u202e名前"
	d := draw("</title><b>", "start>a", "a>end")
	d.Nodes[1].Name = name
	all := mustParse(t, picture.New(d).SVG(picture.Options{Focus: true}))
	root := all[0]
	if root.attrs["role"] != "group" || root.attrs["aria-labelledby"] != "weft-title weft-desc" {
		t.Errorf("the root is %v, want a group with a title and a description", root.attrs)
	}
	if got := byID(t, all, "weft-title").text; got != "Graph </title><b>" {
		t.Errorf("the title is %q", got)
	}
	if got := byID(t, all, "weft-desc").text; !strings.Contains(got, "3 nodes, 2 edges.") || !strings.Contains(got, "<script>") {
		t.Errorf("the description is %q", got)
	}
	node := byID(t, all, picture.NodeID(name))
	const shown = `<script>&"'` + "\ufffd\ufffd名前"
	if node.attrs["data-node"] != shown || node.attrs["aria-label"] != shown || node.attrs["tabindex"] != "0" {
		t.Errorf("the node is %v, want the name %q in it", node.attrs, shown)
	}
	if slices.ContainsFunc(all, func(e element) bool { return e.name == "script" || e.name == "b" }) {
		t.Error("a name has become an element")
	}
}

func TestSVG_IDs(t *testing.T) {
	for got, want := range map[string]string{
		picture.NodeID("plan"):                                "node:plan",
		picture.NodeID("a b", "c:d"):                          "node:a.20b:c.3ad",
		picture.EdgeID([]string{"a", "b"}, "__end__", "edge"): "edge:a:b:__end__:edge",
	} {
		if got != want {
			t.Errorf("got the id %q, want %q", got, want)
		}
	}
	all := mustParse(t, picture.New(samples["nested"]).SVG(picture.Options{}))
	byID(t, all, picture.NodeID("research", "read", "review"))
	byID(t, all, picture.EdgeID([]string{"research", "read", "review"}, "search", "choice"))
}

func TestSVG_LongNamesFitTheirBoxes(t *testing.T) {
	d := draw("long", "start>a", "a>end")
	d.Nodes[1].Name = strings.Repeat("a very long name ", 20) + "end"
	l := picture.New(d)
	if l.Width > 400 {
		t.Errorf("the picture is %d pixels wide", l.Width)
	}
	all := mustParse(t, l.SVG(picture.Options{}))
	i := slices.IndexFunc(all, func(e element) bool { return strings.HasPrefix(e.text, "a very long") && e.name == "text" })
	if i < 0 || !strings.Contains(all[i].text, "…") || !strings.HasSuffix(all[i].text, "end") {
		t.Error("the name is not shortened in its middle")
	}
}

// reviewed is a run in the graph loop: its second review failed, and a person is asked.
func reviewed() (graph.Drawing, []graph.CommitInfo) {
	d := loop
	d.Nodes, d.Edges = slices.Clone(d.Nodes), slices.Clone(d.Edges)
	for i := range d.Nodes {
		switch n := &d.Nodes[i]; n.Name {
		case "search", "review":
			n.Ran = 2
		case "ask":
			n.Due = true
		}
	}
	d.Edges[2].Taken, d.Edges[3].Taken = 1, 1
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	turn := []graph.CommitInfo{
		{Run: "r", Time: at.Add(1800 * time.Millisecond), Ran: []checkpoint.Ran{{Node: "review", Ways: []checkpoint.Way{{To: "ask", Why: "two facts"}}}}, Status: graph.Interrupted,
			Due: []graph.DueTask{{Node: "ask"}}, Interrupts: []graph.Interrupt{{Node: "ask", Kind: "question", Prompt: "Ship <it>?"}}},
		{Run: "r", Time: at.Add(1200 * time.Millisecond), Ran: []checkpoint.Ran{{Node: "search"}}},
		{Run: "r", Time: at.Add(time.Second), Ran: []checkpoint.Ran{{Node: "review", Ways: []checkpoint.Way{{To: "search", Why: "one fact"}}}}},
		{Run: "r", Time: at.Add(200 * time.Millisecond), Ran: []checkpoint.Ran{{Node: "search"}}},
		{Run: "r", Time: at},
	}
	return d, turn
}

func TestSVG_Run(t *testing.T) {
	d, turn := reviewed()
	l := picture.New(d)
	all := mustParse(t, l.SVG(picture.Options{Run: picture.NewRun(d, turn), Focus: true}))
	for name, want := range map[string]string{
		"ask":    "ask, waits for a person: Ship <it>?",
		"search": "search, ran 2 times, 400 ms, finished",
		"review": "review, router, ran 2 times, 1.4 s, finished",
	} {
		if got := byID(t, all, picture.NodeID(name)).attrs["aria-label"]; got != want {
			t.Errorf("%s is spoken as %q, want %q", name, got, want)
		}
	}
	for name, class := range map[string]string{"ask": "state-asking", "search": "state-done", "__start__": "state-done", "__end__": "state-idle"} {
		if got := byID(t, all, picture.NodeID(name)).attrs["class"]; !slices.Contains(strings.Fields(got), class) {
			t.Errorf("%s has the classes %q, want %s", name, got, class)
		}
	}
	for _, e := range [][3]string{{"search", "review", "edge"}, {"review", "search", "choice"}, {"review", "ask", "choice"}, {"ask", "__end__", "edge"}, {"ask", "review", "handler"}} {
		class := byID(t, all, picture.EdgeID([]string{e[0]}, e[1], e[2])).attrs["class"]
		want := e[0] != "ask"
		if got := strings.HasSuffix(class, " taken"); got != want {
			t.Errorf("the edge %v has the classes %q, want taken: %v", e, class, want)
		}
	}
	for _, text := range []string{"two facts", "one fact", "×1", "×2 · 1.4 s"} {
		if !slices.ContainsFunc(all, func(e element) bool { return e.text == text }) {
			t.Errorf("the picture does not say %q", text)
		}
	}
}

// TestNewRun_Reasons gives ask a choice and an error handler that both lead to review.
func TestNewRun_Reasons(t *testing.T) {
	d, _ := reviewed()
	d.Edges = append(d.Edges, graph.DrawnEdge{From: "ask", To: "router:review", Kind: "choice"})
	chose := func(why string, branch int) graph.CommitInfo {
		return graph.CommitInfo{Run: "r", Ran: []checkpoint.Ran{{Node: "ask", Ways: []checkpoint.Way{{To: "review", Why: why, Branch: branch}}}}}
	}
	twice := chose("first", checkpoint.HandlerBranch)
	twice.Ran = append(twice.Ran, chose("", checkpoint.HandlerBranch).Ran...)
	run := picture.NewRun(d, []graph.CommitInfo{chose("", 0), twice, chose("older", 0), chose("older", checkpoint.HandlerBranch)})
	for kind, want := range map[string]string{"choice": "", onError: "first"} {
		if got := run.Whys[picture.Edge{From: "ask", To: "router:review", Kind: kind}]; got != want {
			t.Errorf("the last reason of the %s is %q, want %q", kind, got, want)
		}
	}
}

func TestSVG_RunMovesNothing(t *testing.T) {
	d, _ := reviewed()
	with, without := picture.New(d), picture.New(loop)
	for i, b := range with.Boxes {
		if b.Rect != without.Boxes[i].Rect {
			t.Errorf("%s is at %v, without the run at %v", b.ID, b.Rect, without.Boxes[i].Rect)
		}
	}
}

func TestNewRun_StatesOfTheHead(t *testing.T) {
	child := draw("child", "start>work", "work>end")
	d := inside(draw("g", "start>a", "start>b", "start>sub", "start>worker:w", "a>end", "b>end", "sub>end", "worker:w>end", "b>late", "late>end"), "sub", child)
	head := graph.CommitInfo{
		Status:     graph.Failed,
		Due:        []graph.DueTask{{Node: "a"}, {Node: "b"}, {Node: "sub"}, {Node: "w"}, {Node: "w"}, {Node: "w"}},
		Finished:   []graph.FinishedTask{{Node: "b"}, {Node: "w"}, {Node: "w"}},
		Failures:   []graph.Failure{{Node: "a", Attempt: 3, Message: "no route"}, {Node: "w", Cancelled: true}},
		Interrupts: []graph.Interrupt{{Namespace: "sub", Node: "work", Kind: "question", Prompt: "ok?"}},
	}
	for i := range d.Nodes {
		n := &d.Nodes[i]
		n.Due = n.Kind != "start" && n.Kind != "end" && n.Name != "late"
	}
	run := picture.NewRun(d, []graph.CommitInfo{head})
	for id, want := range map[string]picture.State{
		"a": picture.Failed, "b": picture.Done, "worker:w": picture.Queued, "sub": picture.Asking, "sub_work": picture.Asking, "late": picture.Idle, "end": picture.Idle,
	} {
		if got := run.Marks[id]; got.State != want {
			t.Errorf("%s is %+v, want %s", id, got, want)
		}
	}
	if m := run.Marks["worker:w"]; m.Finished != 2 || m.Tasks != 3 {
		t.Errorf("the worker is %+v, want 2 of 3", m)
	}
	if m := run.Marks["a"]; m.Attempt != 3 || m.Note != "no route" {
		t.Errorf("the failed node is %+v", m)
	}
	over := picture.NewRun(d, []graph.CommitInfo{{Status: graph.Done}})
	if over.Marks["late"].State != picture.Skipped || over.Marks["end"].State != picture.Done {
		t.Errorf("of a run that is over, late is %+v and the end %+v", over.Marks["late"], over.Marks["end"])
	}
}

func TestDuration_Units(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "", time.Microsecond: "<1 ms", 12 * time.Millisecond: "12 ms", 3400 * time.Millisecond: "3.4 s", 59940 * time.Millisecond: "59.9 s",
		59960 * time.Millisecond: "1 min 0 s", time.Minute: "1 min 0 s", 306 * time.Second: "5 min 6 s", 90 * time.Minute: "1 h 30 min",
	} {
		if got := picture.Duration(d); got != want {
			t.Errorf("%s is %q, want %q", d, got, want)
		}
	}
}
