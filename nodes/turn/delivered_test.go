package turn_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/conversation/session"
	"github.com/weftrun/weft/state/message"
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

// strict refuses a batch with a document that has a word.
type strict struct {
	document.Store
	word string
}

func (s strict) Batch(ctx context.Context, p document.Place, c []document.Change) ([]document.Doc, error) {
	for _, change := range c {
		if strings.Contains(string(change.Value), s.word) {
			return nil, document.ErrTooLarge
		}
	}
	return s.Store.Batch(ctx, p, c)
}

// The model gets a message that the session refuses, as long as it gets the messages beside it.
func TestServices_HistoryHasARefusedMessage(t *testing.T) {
	for name, test := range map[string]struct {
		window  message.Window
		refused string
		want    []string // what the model gets in the fourth turn
	}{
		"the first":    {message.Window{}, "one", []string{"one", "answer 1", "two", "answer 2", "three", "answer 3", "four"}},
		"in between":   {message.Window{}, "two", []string{"one", "answer 1", "two", "answer 2", "three", "answer 3", "four"}},
		"the last":     {message.Window{}, "answer 3", []string{"one", "answer 1", "two", "answer 2", "three", "answer 3", "four"}},
		"some":         {message.Window{}, "answer", []string{"one", "answer 1", "two", "answer 2", "three", "answer 3", "four"}},
		"at a window":  {message.Window{MaxMessages: 3}, "two", []string{"answer 2", "three", "answer 3", "four"}},
		"in a window":  {message.Window{MaxMessages: 2}, "answer 2", []string{"three", "answer 3", "four"}},
		"end of first": {message.Window{MaxMessages: 3, KeepFirst: 1}, "answer 1", []string{"one", "three", "answer 3", "four"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := stored{&checkpoint.Memory{}, &document.Map{}}
			o := newAssisted(t, s, none(), session.Config{})
			repo, err := session.New(session.Config{Store: strict{s.docs, test.refused}, Window: test.window, Log: slog.New(slog.DiscardHandler)})
			must(t, err)
			o.Sessions = repo
			for _, text := range []string{"one", "two", "three", "four"} {
				o.say(t, text)
			}
			contains(t, o.logged.String(), "turn: the session refuses message ")
			sameList(t, "what the model got", o.seen[3], test.want)
			for _, text := range o.view(t) {
				if strings.Contains(text, test.refused) {
					t.Errorf("the session has %q", text)
				}
			}
		})
	}
}
