package conversation

import (
	"context"
	"iter"

	"github.com/weftrun/weft/checkpoint/topic"
)

// FeedName is the name of the topic that NewFeed uses.
const FeedName = "conversations"

// Feed is a Socket with subscribers on a bus: a topic.Local in this process, or a bus between
// processes. The program may set another topic than that of NewFeed.
type Feed struct{ Topic topic.Topic[Notice] }

var _ Socket = Feed{}

// NewFeed returns a feed over a bus.
func NewFeed(bus topic.Bus) Feed { return Feed{topic.Topic[Notice]{Bus: bus, Name: FeedName}} }

// Notify implements Socket.
func (f Feed) Notify(ctx context.Context, n Notice) error { return f.Topic.Publish(ctx, n) }

// Subscribe yields the notices that the filter selects, from the call until ctx ends. A reader that
// falls too far behind gets a *topic.MissedError and then the oldest notices that are left; the
// repository has the missed messages. A notice that cannot be decoded is an error too. Any other
// error is the last.
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
