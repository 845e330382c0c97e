package turn

import (
	"context"
	"errors"
	"fmt"

	"github.com/weftrun/weft/conversation/session"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
)

// Reset starts a thread over: its messages, its contexts and the rest of its waiting turn are
// removed, and so is its session, whose messages go to the long-term memory if there is one. The
// settings of the thread, the state of the application and the messages of Services.Messages stay,
// and so do the earlier commits of the thread, until they are pruned. A thread that does not exist
// stays so.
func (g *Agent[S]) Reset(ctx context.Context, thread string) error {
	run := g.Run
	run.Thread = thread
	run.OnOpenQuestions = graph.Discard
	clearThread := func(s *S) (graph.Command, error) {
		a := g.At(s)
		a.Messages.RemoveAll()
		a.Context.Overwrite(state.ContextData{})
		for name := range a.Session.Keys() {
			if name != appStateName {
				a.Session.Delete(name)
			}
		}
		return graph.Command{}, a.Messages.Err()
	}
	_, err := g.Graph.Edit(ctx, [][]graph.Edit[S]{{{As: graph.Start, Do: clearThread}}, {{As: graph.End}}}, run)
	if errors.Is(err, graph.ErrUnknownThread) || errors.Is(err, graph.ErrNoStore) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("turn: resetting the thread: %w", err)
	}
	if g.Services == nil || g.Services.Sessions == nil {
		return nil
	}
	if _, err := g.Services.Sessions.Reset(ctx, g.Services.start(thread)); err != nil && !errors.Is(err, session.ErrNotFound) {
		return fmt.Errorf("turn: resetting the session: %w", err)
	}
	return nil
}
