package conversation

import (
	"fmt"
	"slices"
	"time"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/state/message"
)

// Options say which messages of a thread to get. The zero Options get all.
type Options struct {
	// Limit gets the newest so many, after everything else has narrowed: 0 gets none, nil
	// all, and -n all but the n oldest.
	Limit *int
	// Before and After are exclusive bounds of Created; with both, what lies between them.
	Before, After *time.Time
	// OlderThan and NewerThan are exclusive bounds by place: messages before, or behind, the one that a
	// Cursor of a [Page] is of. One of them at most is set. With NewerThan, Limit gets the oldest so
	// many and not the newest: the next page.
	OlderThan, NewerThan *Cursor
	// Roles are those that are wanted; nil or empty means all.
	Roles []message.Role
}

// Check returns ErrInvalidLimit for a negative limit, which is legal here and a mistake
// wherever a limit comes from outside.
func (o Options) Check() error {
	if o.Limit != nil && *o.Limit < 0 {
		return fmt.Errorf("%w: %d", ErrInvalidLimit, *o.Limit)
	}
	return nil
}

// query returns what the store is asked. forward says that it answers oldest first.
func (o Options) query(at document.Place) (q document.Query, forward bool) {
	q = document.Query{Place: at, Reverse: true}
	if o.Before != nil {
		q.Until = document.AtTime(*o.Before)
	}
	if o.After != nil {
		q.From = document.AtTime(*o.After) + "~" // behind all that have this very time
	}
	if len(o.Roles) > 0 {
		q.Where = document.Filter{{Path: "role", Op: document.In, Value: o.Roles}}
	}
	switch {
	case o.OlderThan != nil: // a negative limit is for the caller
		q.After = o.OlderThan.position()
		if o.Limit != nil && *o.Limit >= 0 {
			q.Limit = o.Limit
		}
	case o.NewerThan != nil:
		q.Reverse, q.After = false, o.NewerThan.position()
		if o.Limit != nil && *o.Limit < 0 {
			q.Skip = -*o.Limit
		} else {
			q.Limit = o.Limit
		}
	case o.Limit == nil:
		q.Reverse = false
	case *o.Limit < 0:
		q.Reverse, q.Skip = false, -*o.Limit
	default:
		q.Limit = o.Limit
	}
	return q, !q.Reverse
}

// empty reports whether no message can lie between the bounds.
func (o Options) empty() bool {
	return o.Before != nil && o.After != nil && !o.After.Before(*o.Before)
}

// Type is what a message is, besides its role.
type Type string

const (
	TypeText    Type = "text"         // what somebody says
	TypeCalls   Type = "tool_calls"   // an assistant asks for tools
	TypeResults Type = "tool_results" // tools answer
	TypeSummary Type = "summary"      // what was said before, in short
)

// TypeOf returns the type of a message.
func TypeOf(m message.Message) Type {
	if _, ok := message.SummaryOf(m); ok {
		return TypeSummary
	}
	switch {
	case len(m.Calls) > 0:
		return TypeCalls
	case len(m.Results) > 0:
		return TypeResults
	}
	return TypeText
}

// Filter says which notices a subscriber wants. The zero Filter wants all.
type Filter struct {
	Thread string // "" for every thread
	Roles  []message.Role
	Types  []Type
}

// Match reports whether a notice is wanted.
func (f Filter) Match(n Notice) bool {
	return (f.Thread == "" || f.Thread == n.Thread) &&
		(len(f.Roles) == 0 || slices.Contains(f.Roles, n.Message.Role)) &&
		(len(f.Types) == 0 || slices.Contains(f.Types, TypeOf(n.Message)))
}
