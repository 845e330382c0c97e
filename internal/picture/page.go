package picture

import (
	_ "embed" // the template of pages
	"fmt"
	"html/template"
	"io"
	"strings"
	"time"

	"github.com/weftrun/weft/graph"
)

// Page is a file of HTML with a picture. It needs nothing else: its policy forbids all requests and
// all scripts.
type Page struct {
	Title   string
	Drawing *graph.Drawing // the graph; nil if there is none
	Note    string         // why there is none
	Run     *Run           // what a run has done; nil for the graph alone
	Turn    []graph.CommitInfo
	Commits []Row // the history, the newest first
	// Decisions are what persons decided about the thread, the newest first.
	Decisions []string
	More      string // how to get older commits, if there are some
}

// Row is a commit in the table of a page.
type Row struct {
	graph.CommitInfo
	Took time.Duration // since the commit before it, of the same run; 0 if it is not known
}

// Rows returns commits, the newest first, with how long each took.
func Rows(commits []graph.CommitInfo) []Row {
	times := map[uint64]graph.CommitInfo{}
	for _, c := range commits {
		times[c.Checkpoint] = c
	}
	rows := make([]Row, len(commits))
	for i, c := range commits {
		rows[i].CommitInfo = c
		before := c.Parent
		if before == 0 {
			before = c.Checkpoint - 1
		}
		if b, ok := times[before]; ok && b.Run == c.Run {
			rows[i].Took = max(c.Time.Sub(b.Time), 0)
		}
	}
	return rows
}

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"duration": Duration,
	"utc":      func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05.000") },
	"nodes":    NodeList,
}).Parse(pageText))

// NodeList lists nodes; one with several tasks appears once, with their number.
func NodeList(names []string) string {
	count := map[string]int{}
	var once []string
	for _, n := range names {
		if count[n]++; count[n] == 1 {
			once = append(once, n)
		}
	}
	for i, n := range once {
		if count[n] > 1 {
			once[i] = fmt.Sprintf("%s ×%d", n, count[n])
		}
	}
	return strings.Join(once, ", ")
}

// entry is a state in the legend.
type entry struct {
	State State
	Words string
}

// Write writes the page.
func (p *Page) Write(w io.Writer) error {
	view := struct {
		*Page
		Style                   template.CSS
		Picture, Timeline, Icon template.HTML
		Text                    string
		Legend                  []entry
	}{Page: p, Style: template.CSS(CSS())}
	if p.Drawing != nil {
		view.Picture = template.HTML(New(*p.Drawing).SVG(Options{Run: p.Run, NoStyle: true, Focus: true}))
		view.Text = p.Drawing.Text()
	}
	if p.Run != nil {
		for _, s := range states[1:] {
			if p.Run.has(s) {
				view.Legend = append(view.Legend, entry{s, words[s]})
			}
		}
	}
	if len(p.Turn) > 0 {
		d := graph.Drawing{}
		if p.Drawing != nil {
			d = *p.Drawing
		}
		view.Timeline = template.HTML(Timeline(p.Turn, p.Run, d))
	}
	return page.Execute(w, view)
}

// has reports whether a node is in a state.
func (r *Run) has(s State) bool {
	for _, m := range r.Marks {
		if m.State == s {
			return true
		}
	}
	return false
}
