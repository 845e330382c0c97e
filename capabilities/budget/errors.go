package budget

import (
	"errors"
	"fmt"
	"time"

	"github.com/weftrun/weft/capabilities/model"
)

// ErrConfig is returned for a Config or a store that cannot be used.
var ErrConfig = errors.New("budget: invalid configuration")

// ErrKey is returned when a call has no value for Limit.By, such as a thread. The call is not made.
var ErrKey = errors.New("budget: the call has no key")

// ErrNoPrice is returned when a limit of money applies to a model without a price. The call is not
// made.
var ErrNoPrice = errors.New("budget: no price is known")

// ErrContended is returned when other processes came first at each of many writes.
var ErrContended = errors.New("budget: too many writers")

// What names a part of a limit.
type What string

// The parts of a limit.
const (
	Calls       What = "calls"
	Tokens      What = "tokens"
	Spending    What = "money"
	PerTime     What = "rate"
	Concurrency What = "concurrency"
)

// Error is returned when a limit refuses a call. The call was not made.
type Error struct {
	Limit, Key string // of the limit
	What       What
	Currency   string
	// Most is the limit with all raises. Spent and Reserved are what it had, and Wanted is what the
	// call would have reserved.
	Most, Spent, Reserved, Wanted Amount
	// Running are the calls at once, of a Concurrency.
	Running int
	// Wait is after which time another attempt may succeed; 0 is unknown, or never in this period.
	Wait time.Duration
	// Declined reports that a person was asked, and declined.
	Declined bool
}

func (e *Error) Error() string {
	of := fmt.Sprintf("budget: limit %q", e.Limit)
	if e.Key != "" {
		of += fmt.Sprintf(" of %.100q", e.Key)
	}
	switch e.What {
	case PerTime:
		return fmt.Sprintf("%s: too many calls; try again in %s", of, e.Wait)
	case Concurrency:
		return fmt.Sprintf("%s: %s at once", of, plural(int64(e.Running), "call"))
	}
	text := fmt.Sprintf("%s: %s spent and %s reserved of %s; the call needs up to %s", of,
		e.Spent.only(e.What, ""), e.Reserved.only(e.What, ""), e.Most.only(e.What, e.Currency), e.Wanted.only(e.What, e.Currency))
	if e.Declined {
		text += "; a person declined to spend more"
	}
	return text
}

// Code returns the error code, which is stored with the failure: "budget_" and the part.
func (e *Error) Code() string { return "budget_" + string(e.What) }

// Unwrap makes a rate and a concurrency a temporary failure of package model: a policy tries again,
// and a model.Fallback asks its next model. A spent amount is not.
func (e *Error) Unwrap() error {
	if e.What != PerTime && e.What != Concurrency {
		return nil
	}
	return &model.Error{Kind: model.RateLimited, Wait: e.Wait, Message: e.Limit}
}
