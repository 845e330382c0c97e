package picture_test

import (
	"html"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/picture"
)

// reference matches what makes a browser load something, other than a part of the same file.
var reference = regexp.MustCompile(`(?i)(src|href|action|data|poster)\s*=\s*["'][^#"']|url\(|@import|<(script|link|iframe|img|object|form)`)

func pageText(t *testing.T, p picture.Page) string {
	t.Helper()
	var b strings.Builder
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestPage_NeedsNothingElse(t *testing.T) {
	d, turn := reviewed()
	d.Nodes[3].Name = `<img src="http://example.org/x">`
	text := pageText(t, picture.Page{
		Title: `<script>alert(1)</script>`, Drawing: &d, Run: picture.NewRun(d, turn), Turn: turn, Commits: picture.Rows(turn, 0),
		Decisions: []string{"<b>yes</b>"}, Note: "<i>", More: "<u>",
	})
	if found := reference.FindString(text); found != "" {
		t.Errorf("the page refers to something outside of it: %s", found)
	}
	if !strings.Contains(html.UnescapeString(text), `content="default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"`) {
		t.Error("the page has no policy that forbids requests")
	}
	for _, want := range []string{"&lt;script&gt;", "&lt;b&gt;yes", "&lt;i&gt;", "&lt;u&gt;", "waits for a person", "600 ms"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not hold %q", want)
		}
	}
}

func TestPage_WithoutAPicture(t *testing.T) {
	_, turn := reviewed()
	text := pageText(t, picture.Page{Title: "t", Note: "the file is gone", Turn: turn, Commits: picture.Rows(turn, 0)})
	if strings.Contains(text, "node:search") || !strings.Contains(text, "the file is gone") || !strings.Contains(text, "weft-timeline") {
		t.Errorf("got\n%s", text)
	}
}

func TestTimeline(t *testing.T) {
	d, turn := reviewed()
	for i := range turn {
		turn[i].Checkpoint, turn[i].Step = uint64(len(turn)-i), len(turn)-i-1
	}
	turn[0].Next = []string{"ask"}
	turn[2].Run, turn[3].Run, turn[4].Run = "earlier", "earlier", "earlier"
	all := mustParse(t, picture.Timeline(turn, picture.NewRun(d, turn), d))
	texts := func(name, class string) (found []string) {
		for _, e := range all {
			if e.name == name && (class == "" || e.attrs["class"] == class) && e.text != "" {
				found = append(found, e.text)
			}
		}
		return found
	}
	if got, want := texts("text", "time-node"), []string{"search", "review", "ask"}; !slices.Equal(got, want) {
		t.Errorf("got the rows %q, want %q", got, want)
	}
	want := []string{
		"Steps of a turn (4), each with the nodes that ran in it and how long it took",
		"step 1, checkpoint 2, 200 ms: search", "step 2, checkpoint 3, 800 ms: review", "step 3, checkpoint 4, an unknown time: search",
		"200 ms between two runs", "step 4, checkpoint 5, 600 ms: review", "ask, waits for a person",
	}
	if got := texts("title", ""); !slices.Equal(got, want) {
		t.Errorf("got the titles\n%q\nwant\n%q", got, want)
	}
}

func TestTimeline_ShortTimes(t *testing.T) {
	d, turn := reviewed()
	for i := range turn {
		turn[i].Time = turn[0].Time.Add(-time.Duration(i) * time.Microsecond)
	}
	turn[2].Run, turn[3].Run, turn[4].Run = "earlier", "earlier", "earlier"
	all := mustParse(t, picture.Timeline(turn, picture.NewRun(d, turn), d))
	for _, want := range []string{"step 0, checkpoint 0, <1 ms: search", "<1 ms between two runs", "longest: <1 ms"} {
		if !slices.ContainsFunc(all, func(e element) bool { return e.text == want }) {
			t.Errorf("the timeline has no %q", want)
		}
	}
}

func TestTimeline_ShowsTheNewestSteps(t *testing.T) {
	var turn []graph.CommitInfo
	for range 500 {
		turn = append(turn, graph.CommitInfo{Ran: []checkpoint.Ran{{Node: "a"}}})
	}
	all := mustParse(t, picture.Timeline(turn, nil, graph.Drawing{}))
	if !strings.HasPrefix(all[1].text, "Steps of a turn (300)") {
		t.Errorf("got %q, want the newest 300 steps", all[1].text)
	}
	if got := picture.Timeline(nil, nil, graph.Drawing{}); got != "" {
		t.Errorf("a turn without steps gives %q", got)
	}
}

func TestRows_DurationsOfSteps(t *testing.T) {
	_, turn := reviewed()
	for i := range turn {
		turn[i].Checkpoint = uint64(len(turn) - i)
	}
	turn[0].Parent = 2 // a branch
	rows := picture.Rows(turn, 0)
	for i, want := range []string{"1.6s", "200ms", "800ms", "200ms", "0s"} {
		if got := rows[i].Took.String(); got != want {
			t.Errorf("checkpoint %d took %s, want %s", rows[i].Checkpoint, got, want)
		}
	}
}

// Only the newest commit may still be pending.
func TestRows_WhatBecameOfACommit(t *testing.T) {
	var list []graph.CommitInfo // 4 begins a branch from 2, and 6 goes on from 5
	for n := uint64(6); n > 0; n-- {
		list = append(list, graph.CommitInfo{Checkpoint: n, Parent: map[uint64]uint64{4: 2}[n], Status: graph.Pending})
	}
	list[1].Status = graph.Done
	for _, c := range []struct {
		newest uint64
		want   string
	}{{0, "pending done went on branch ended went on went on"}, {9, " done went on  went on went on"}} {
		got := ""
		for _, r := range picture.Rows(list, c.newest) {
			got += " " + r.Then
		}
		if got[1:] != c.want {
			t.Errorf("with %d as the newest commit got %q, want %q", c.newest, got[1:], c.want)
		}
	}
}
