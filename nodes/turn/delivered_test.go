package turn_test

import (
	"context"
	"log/slog"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/conversation/session"
)

// lossy makes a batch and loses its reply.
type lossy struct {
	document.Store
	loses *bool
}

func (l lossy) Batch(ctx context.Context, p document.Place, c []document.Change) ([]document.Doc, error) {
	docs, err := l.Store.Batch(ctx, p, c)
	if err == nil && *l.loses {
		return nil, checkpoint.ErrUnknownOutcome
	}
	return docs, err
}

func TestServices_HistoryHasEachMessageOnce(t *testing.T) {
	forEachStore(t, func(t *testing.T, s stored) {
		loses := false
		o := newAssisted(t, s, none(), session.Config{})
		repo, err := session.New(session.Config{Store: lossy{s.docs, &loses}, Log: slog.New(slog.DiscardHandler)})
		must(t, err)
		o.Sessions = repo
		o.say(t, "one")
		loses = true
		o.say(t, "two")
		contains(t, o.logged.String(), "delivering to the session failed")
		loses = false
		o.say(t, "three")
		sameList(t, "what the model got", o.seen[2], []string{"one", "answer 1", "two", "answer 2", "three"})
		sameList(t, "the session", o.view(t), o.talk(t))
	})
}
