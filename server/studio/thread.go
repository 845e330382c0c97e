package studio

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	h "github.com/weftrun/weft/internal/markup"
	"github.com/weftrun/weft/internal/picture"
	"github.com/weftrun/weft/internal/schedule"
)

// threadPage is a page with one thread.
type threadPage struct {
	Thread
	At, Newest        uint64 // checkpoints; 0 if there is none
	Commit            graph.CommitInfo
	Before, After     string // links to the steps around it, or ""
	Activity          activity
	Run               *picture.Run
	Picture, Timeline h.Part
	Chart             h.Part // of Times
	Times             shownTimes
	Text              string
	Note              string // why there is no picture or state
	Fields            []field
	Diff              *diff // nil if there is nothing to compare with
	StateLink         string
	Rows              []picture.Row
	Older             string // a link, or ""
	Questions         []question
	Command           string // of the command line
	Nodes             []graph.DrawnNode
	Branches          []branch // the oldest first
	Decisions         []graph.DecisionRecord
	Turn              []graph.CommitInfo // up to the one that is shown, the newest first
	Drawn             graph.Drawing
	Spaces            []string  // of subgraphs
	Edited            *editForm // nil if nothing was entered
}

// branch is a branch of a thread.
type branch struct {
	Begun  uint64 // the commit that began it; 0 for the first
	From   uint64 // the commit that it goes on from
	Newest uint64
}

// branchesOf returns the branches of commits, the oldest first.
func branchesOf(commits []graph.CommitInfo) (all []branch) {
	for _, c := range commits {
		i := slices.IndexFunc(all, func(b branch) bool { return b.Begun == c.Branch })
		if i < 0 {
			all, i = append(all, branch{Begun: c.Branch, Newest: c.Checkpoint}), len(all)
		}
		if c.Checkpoint == c.Branch {
			all[i].From = c.Parent
		}
	}
	slices.SortFunc(all, func(a, b branch) int { return cmp.Compare(a.Begun, b.Begun) })
	return all
}

// maxDecisions is how many decisions a page shows.
const maxDecisions = 50

// decisions reads what persons decided about the thread.
func (p *threadPage) decisions(r *request) error {
	for d, err := range p.Graph.Thread(p.ID).Decisions(r.Context()) {
		if err != nil {
			return err
		}
		if p.Decisions = append(p.Decisions, d); len(p.Decisions) == maxDecisions {
			break
		}
	}
	return nil
}

func showThread(r *request) (view, error) {
	t, err := r.source.Thread(r.Context(), r.PathValue("id"))
	if err != nil {
		return view{}, err
	}
	if r.URL.Query().Get("ns") != "" {
		return showChild(r, t)
	}
	at, err := r.number("at", anyNumber)
	if err != nil {
		return view{}, err
	}
	return r.threadView(t, at, nil)
}

// threadView is the page of a thread at a checkpoint, 0 for the newest, with the form of a change
// that has a mistake.
func (r *request) threadView(t Thread, at uint64, edited *editForm) (view, error) {
	p := &threadPage{Thread: t, Edited: edited}
	turn, err := graph.Turn(r.Context(), t.Store, t.ID, at, turnSteps)
	if errors.Is(err, graph.ErrUnknownThread) {
		if at != 0 {
			return view{}, noCheckpoint(at)
		}
		p.Note = "The thread has no checkpoint yet."
		if p.Activity, err = r.activityOf(t, nil, time.Time{}, true); err != nil {
			return view{}, err
		}
		return p.view(r), nil
	}
	if err != nil {
		return view{}, err
	}
	p.Commit, p.At, p.Turn = turn[0], turn[0].Checkpoint, turn
	if !r.first {
		if p.Spaces, err = graph.Namespaces(r.Context(), t.Store, t.ID); err != nil {
			return view{}, err
		}
	}
	if err := p.history(r); err != nil {
		return view{}, err
	}
	for _, in := range p.Commit.Interrupts {
		p.Questions = append(p.Questions, questionOf(t, in, r.write && p.At == p.Newest))
	}
	p.Command = fmt.Sprintf("weft state %s --at %d", quoted(t.ID), p.At)
	if err := p.show(r, turn); err != nil {
		return view{}, err
	}
	return p.view(r), nil
}

func noCheckpoint(at uint64) error {
	return &requestError{http.StatusNotFound, fmt.Sprintf("the thread has no checkpoint %d", at)}
}

// history reads the list of checkpoints, and the links to those around the one that is shown.
func (p *threadPage) history(r *request) error {
	before, err := r.number("before", anyNumber)
	if err != nil {
		return err
	}
	head, err := graph.Inspect(r.Context(), p.Store, checkpoint.Key{Thread: p.ID})
	if err != nil {
		return err
	}
	p.Newest = head.Checkpoint
	var list []graph.CommitInfo
	for c, err := range graph.History(r.Context(), p.Store, checkpoint.Key{Thread: p.ID}, checkpoint.Query{Before: before, Limit: commitsPage + 1}) {
		if err != nil {
			return err
		}
		list = append(list, c)
	}
	p.Rows, p.Branches = picture.Rows(list, p.Newest), branchesOf(list)
	path := "/threads/" + url.PathEscape(p.ID)
	if len(p.Rows) > commitsPage {
		p.Rows = p.Rows[:commitsPage]
		p.Older = r.with(path, "before", fmt.Sprint(p.Rows[commitsPage-1].Checkpoint))
	}
	if earlier := parentOf(p.Commit); earlier > 0 {
		p.Before = r.with(path, "at", fmt.Sprint(earlier))
	}
	if p.At < p.Newest {
		p.After = r.with(path, "at", fmt.Sprint(p.At+1))
	}
	p.StateLink = r.with(path+"/state.json", "at", fmt.Sprint(p.At), "before", "")
	return nil
}

// parentOf returns the commit from which another one goes on.
func parentOf(c graph.CommitInfo) uint64 {
	if c.Parent != 0 {
		return c.Parent
	}
	return c.Checkpoint - 1
}

// show reads the state and draws the pictures. It compares the states meanwhile.
func (p *threadPage) show(r *request, turn []graph.CommitInfo) error {
	if p.Graph == nil {
		return p.draw(r, turn)
	}
	var shown, compared error
	schedule.AtOnce(
		func() { p.Diff, compared = p.diffOf(r, p.Graph.Thread(p.ID)) },
		func() {
			if shown = p.draw(r, turn); shown == nil {
				shown = p.read(r)
			}
		},
	)
	return cmp.Or(shown, compared)
}

// read reads the state.
func (p *threadPage) read(r *request) error {
	state, _, err := p.Graph.Thread(p.ID).State(r.Context(), p.At)
	if err == nil {
		p.Fields, err = fieldsOf(state)
	}
	return err
}

// draw draws the pictures of the turn.
func (p *threadPage) draw(r *request, turn []graph.CommitInfo) (err error) {
	atHead := p.At == p.Newest
	now, until := p.Commit.Time, p.Commit.Time
	if atHead {
		until = time.Time{}
	}
	busy := atHead && p.Status == "busy"
	if !r.first || busy || r.URL.Query().Get("tab") == "task" {
		if p.Activity, err = r.activityOf(p.Thread, turn, until, busy); err != nil {
			return err
		}
	}
	if busy {
		now = time.Now()
	}
	spans := p.Activity.spans
	if !r.first && len(spans) > 0 {
		if p.Times, err = r.shownTimes(spans, now); err != nil {
			return err
		}
		last := lastOfSpans(spans, p.Times.Window, now)
		p.Times.middle = picture.Middle(last, now, p.Times.Window)
		if chart := picture.Gantt(last, now, p.Times.Window); chart != "" {
			p.Chart = h.SVG(chart)
		} else {
			p.Chart = muted("Nothing ran in this time.")
		}
	}
	if p.Graph == nil {
		p.Timeline = h.SVG(picture.Timeline(newestOf(turn, maxColumns), nil, graph.Drawing{}))
		p.Note = fmt.Sprintf("The server does not serve the graph %q of this thread, so there is no picture and no state.", p.Commit.Graph)
		return nil
	}
	d, err := p.Graph.Thread(p.ID).DrawTurn(r.Context(), turn, 1)
	if err != nil {
		return err
	}
	p.Nodes, p.Drawn = d.Nodes, d
	run := picture.NewRun(d, turn)
	if busy {
		run.Watch(&d, spans)
	}
	selected := ""
	if node := r.URL.Query().Get("node"); node != "" {
		selected = picture.NodeID(node)
	}
	p.Run, p.Picture, p.Text = run, r.draw(d, picture.Options{Run: run, Selected: selected}), d.Text()
	if r.first {
		return nil
	}
	p.Timeline = h.SVG(picture.Timeline(newestOf(turn, maxColumns), run, d))
	return p.decisions(r)
}

// What a page shows of a turn at most: its newest steps, and in the charts steps and spans.
const (
	turnSteps  = 1000
	maxColumns = 300
	maxSpans   = 2000
)

// newestOf returns the first of a list that begins with the newest.
func newestOf[T any](list []T, most int) []T { return list[:min(len(list), most)] }

// lastOfSpans returns the newest spans of a turn in a window.
func lastOfSpans(spans []picture.Span, w picture.Window, now time.Time) []picture.Span {
	shown := w.Of(spans, now)
	return shown[max(0, len(shown)-maxSpans):]
}
