package conversation

import (
	"fmt"
	"slices"
	"time"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/state/message"
)

// Options selects messages of a thread. The zero Options selects all.
type Options struct {
	// Limit selects the newest messages, after all other filters: 0 selects none, nil all, and
	// -n all but the n oldest.
	Limit *int
	// Before and After are exclusive bounds of Created.
	Before, After *time.Time
	// OlderThan and NewerThan are exclusive bounds by position: they select the messages before or
	// after the message of a Cursor of a [Page]. At most one of them is set. With NewerThan, Limit
	// selects the oldest messages instead of the newest: the next page.
	OlderThan, NewerThan *Cursor
	// Roles selects messages by role; nil or empty means all roles.
	Roles []message.Role
}

// Check returns ErrInvalidLimit for a negative limit. Get accepts one, but a limit from outside the
// program should not be negative.
func (o Options) Check() error {
	if o.Limit != nil && *o.Limit < 0 {
		return fmt.Errorf("%w: %d", ErrInvalidLimit, *o.Limit)
	}
	return nil
}

// query returns the query for the store. With forward, the results come oldest first.
func (o Options) query(at document.Place) (q document.Query, forward bool) {
	q = document.Query{Place: at, Reverse: true}
	if o.Before != nil {
		q.Until = document.AtTime(*o.Before)
	}
	if o.After != nil {
		q.From = document.AtTime(*o.After) + "~" // after all messages of exactly this time
	}
	if len(o.Roles) > 0 {
		q.Where = document.Filter{{Path: "role", Op: document.In, Value: o.Roles}}
	}
	switch {
	case o.OlderThan != nil: // find applies a negative limit
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

// Type is the kind of a message, besides its role.
type Type string

const (
	TypeText    Type = "text"         // text of any role
	TypeCalls   Type = "tool_calls"   // an assistant calls tools
	TypeResults Type = "tool_results" // results of tool calls
	TypeSummary Type = "summary"      // a summary of earlier messages
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

// Filter selects notices for a subscriber. The zero Filter selects all.
type Filter struct {
	Thread string // "" for every thread
	Roles  []message.Role
	Types  []Type
}

// Match reports whether the filter selects a notice.
func (f Filter) Match(n Notice) bool {
	return (f.Thread == "" || f.Thread == n.Thread) &&
		(len(f.Roles) == 0 || slices.Contains(f.Roles, n.Message.Role)) &&
		(len(f.Types) == 0 || slices.Contains(f.Types, TypeOf(n.Message)))
}
