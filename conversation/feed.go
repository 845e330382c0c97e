package conversation

import (
	"context"
	"iter"

	"github.com/weftrun/weft/checkpoint/topic"
)

// FeedName is the name of the topic that NewFeed uses.
const FeedName = "conversations"

// Feed is a Socket that others subscribe to, over a bus: a topic.Local within this process, or
// one that reaches further. Its topic may be another one than NewFeed gives it.
type Feed struct{ Topic topic.Topic[Notice] }

var _ Socket = Feed{}

// NewFeed returns a feed over a bus.
func NewFeed(bus topic.Bus) Feed { return Feed{topic.Topic[Notice]{Bus: bus, Name: FeedName}} }

// Notify implements Socket.
func (f Feed) Notify(ctx context.Context, n Notice) error { return f.Topic.Publish(ctx, n) }

// Subscribe yields the notices that f matches, from the call on until ctx ends. A reader that falls
// too far behind gets a *topic.MissedError and then the oldest that are left; the repository
// has what was missed. Other errors, but for one notice that cannot be read, are the last.
func (f Feed) Subscribe(ctx context.Context, which Filter) iter.Seq2[Notice, error] {
	received := f.Topic.Subscribe(ctx, which.Match)
	return func(yield func(Notice, error) bool) {
		for r, err := range received {
			if !yield(r.Value, err) {
				return
			}
		}
	}
}
