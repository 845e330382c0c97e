package verbs

import (
	"context"
	"errors"
	"slices"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/picture"
)

// drawnRun is what a drawing shows of a thread.
type drawnRun struct {
	thread string
	turn   []graph.CommitInfo // as graph.Turn returns them
}

// of returns the run for the picture of a drawing.
func (r *drawnRun) of(d graph.Drawing) *picture.Run {
	if r == nil {
		return nil
	}
	return picture.NewRun(d, r.turn)
}

// historyPage prints the history of a thread as a file of HTML: the listed checkpoints, and a
// picture of the newest turn if this program can open the graph. more is true if there are older
// checkpoints.
func (s *session) historyPage(ctx context.Context, f historyFlags, listed []graph.CommitInfo, more bool) error {
	page := picture.Page{Title: "History of " + s.thread, Commits: picture.Rows(listed, 0)}
	if more {
		page.More = "There are older checkpoints: add --before or a larger --limit."
	}
	if f.namespace != "" {
		page.Title += ", subgraph " + f.namespace
		page.Note = "This is the history of a subgraph. The history of the thread has the picture."
		return page.Write(s.Stdout)
	}
	head, found, err := s.inspect(ctx)
	if err != nil || !found {
		return errors.Join(err, s.unknownThread())
	}
	page.Commits = picture.Rows(listed, head.Checkpoint)
	if page.Turn, err = graph.Turn(ctx, s.store, s.thread, 0, 0); err != nil {
		return err
	}
	why, err := s.findToRead(ctx, "history", "", head)
	if err != nil {
		return err
	}
	if why != nil {
		page.Note = "There is no picture of the graph: " + why.Error()
	} else {
		d, err := s.graph.Thread(s.thread).DrawTurn(ctx, page.Turn, 1)
		if err != nil {
			return err
		}
		page.Drawing, page.Run = &d, picture.NewRun(d, page.Turn)
	}
	decided, err := s.decisions(ctx)
	if err != nil {
		return err
	}
	for _, d := range slices.Backward(decided) {
		page.Decisions = append(page.Decisions, decisionText(d))
	}
	return page.Write(s.Stdout)
}
