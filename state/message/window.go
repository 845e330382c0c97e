package message

import (
	"fmt"
)

// Window limits the part of a conversation that a prompt holds. The log holds all messages; Fit
// returns the part to send.
type Window struct {
	// MaxTokens and MaxMessages are the limits of the result of Fit; 0 means no limit. A
	// conversation of exactly the limit is not cut.
	MaxTokens   int
	MaxMessages int
	// KeepFirst is how many messages after the leading system messages always stay.
	KeepFirst int
	// KeepSystem keeps all system messages. Those that lead, and summaries, stay anyway.
	KeepSystem bool
	// WholeTurns begins the newest part at a user message, as some providers want it,
	// unless the last turn alone does not fit.
	WholeTurns bool
	// Counter counts tokens; nil is Estimate{}.
	Counter Counter
}

// Fitted is what of a conversation fits into a Window.
type Fitted struct {
	Messages []Message // in order
	Tokens   int       // of Messages; 0 where the Window has no MaxTokens
	Cut      []Message // what was left out, in order
	// Orphans are results that answer no call before them. No provider takes them, so
	// they are left out whatever the Window; a message of nothing else goes with them.
	Orphans []Ref
}

// TooLargeError is returned when what must stay is larger than the Window.
type TooLargeError struct {
	Messages, Tokens       int // of what must stay
	MaxMessages, MaxTokens int
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("message: what must stay is %d messages and %d tokens, the window at most %s messages and %s tokens",
		e.Messages, e.Tokens, bound(e.MaxMessages), bound(e.MaxTokens))
}

func bound(n int) string {
	if n == 0 {
		return "any number of"
	}
	return fmt.Sprint(n)
}

// Fit returns the newest part of ms that fits. These messages always stay: leading system messages,
// summaries, those of KeepFirst and KeepSystem, the last user message, and the last message.
// Messages with a call and those with its results stay or go together. All other messages are cut
// from the beginning, so the rest is one contiguous piece that ends with the last message.
//
// If the messages that must stay exceed the limits, Fit returns them with a *TooLargeError. A
// negative limit is an ErrLimit. Fit does not modify ms.
func (w Window) Fit(ms []Message) (Fitted, error) {
	if w.MaxTokens < 0 || w.MaxMessages < 0 || w.KeepFirst < 0 {
		return Fitted{}, fmt.Errorf("%w: a Window of %d tokens, %d messages, the first %d", ErrLimit, w.MaxTokens, w.MaxMessages, w.KeepFirst)
	}
	c := cutter{Window: w}
	c.ms, c.orphans = withoutOrphans(ms)
	c.pairing = pair(c.ms)
	if err := c.weigh(); err != nil {
		return Fitted{}, err
	}
	c.pin()
	from, err := c.from()
	return c.fitted(ms, from), err
}

// withoutOrphans returns ms without the results that answer no call.
func withoutOrphans(ms []Message) ([]Message, []Ref) {
	orphans := pair(ms).orphans
	if len(orphans) == 0 {
		return ms, nil
	}
	lost := map[Ref]bool{}
	for _, r := range orphans {
		lost[r] = true
	}
	var stored []Message
	for i, m := range ms {
		var results []Result
		for _, r := range m.Results {
			if !lost[Ref{i, m.ID, r.CallID}] {
				results = append(results, r)
			}
		}
		if plain := len(m.Results) > 0 && len(results) == 0 && len(m.Content) == 0 && len(m.Calls) == 0; !plain {
			m.Results = results
			stored = append(stored, m)
		}
	}
	return stored, orphans
}

// cutter is one Fit under way.
type cutter struct {
	Window
	ms      []Message
	orphans []Ref
	*pairing
	cost     []int
	pinned   []bool
	lastUser int // index of the last user message; -1 for none
}

// weigh counts the tokens of each message, if the window has a bound of them.
func (c *cutter) weigh() (err error) {
	c.cost = make([]int, len(c.ms))
	if c.MaxTokens == 0 {
		return nil
	}
	counter := c.counter()
	for i := range c.ms {
		if c.cost[i], err = Total(counter, c.ms[i:i+1]); err != nil {
			return err
		}
	}
	return nil
}

func (w Window) counter() Counter {
	if w.Counter == nil {
		return Estimate{}
	}
	return w.Counter
}

// pin marks the messages that must stay, and those of the same group.
func (c *cutter) pin() {
	c.pinned, c.lastUser = make([]bool, len(c.ms)), -1
	lead := leading(c.ms)
	for i, m := range c.ms {
		if m.Role == RoleUser {
			c.lastUser = i
		}
		_, summary := SummaryOf(m)
		if i < lead+c.KeepFirst || summary || c.KeepSystem && m.Role == RoleSystem || i == len(c.ms)-1 {
			c.keep(i)
		}
	}
	if c.lastUser >= 0 {
		c.keep(c.lastUser)
	}
	for i := range c.ms {
		c.pinned[i] = c.pinned[c.first(i)]
	}
}

func (c *cutter) keep(i int) { c.pinned[c.first(i)] = true }

// leading returns the number of system messages that ms begins with.
func leading(ms []Message) (n int) {
	for n < len(ms) && ms[n].Role == RoleSystem {
		n++
	}
	return n
}

// from returns the index from which on all messages stay.
func (c *cutter) from() (int, error) {
	n, tokens := 0, 0
	for i, pinned := range c.pinned {
		if pinned {
			n, tokens = n+1, tokens+c.cost[i]
		}
	}
	if !c.holds(n, tokens) {
		return len(c.ms), &TooLargeError{n, tokens, c.MaxMessages, c.MaxTokens}
	}
	best, reach := len(c.ms), len(c.ms)
	for i := len(c.ms) - 1; i >= 0; i-- {
		if !c.pinned[i] {
			n, tokens = n+1, tokens+c.cost[i]
			reach = min(reach, c.first(i))
		}
		if !c.holds(n, tokens) {
			break
		}
		if reach >= i && c.begins(i) {
			best = i
		}
	}
	return best, nil
}

func (w Window) holds(n, tokens int) bool {
	return (w.MaxMessages == 0 || n <= w.MaxMessages) && (w.MaxTokens == 0 || tokens <= w.MaxTokens)
}

// begins reports whether the newest part may begin with message i.
func (c *cutter) begins(i int) bool {
	return !c.WholeTurns || i > c.lastUser || c.ms[i].Role == RoleUser || i <= leading(c.ms)
}

func (c *cutter) fitted(all []Message, from int) Fitted {
	stored := len(c.ms) - from
	for _, pinned := range c.pinned[:from] {
		if pinned {
			stored++
		}
	}
	f := Fitted{Orphans: c.orphans, Messages: make([]Message, 0, stored), Cut: make([]Message, 0, len(c.ms)-stored)}
	for i, m := range c.ms {
		if i < from && !c.pinned[i] {
			f.Cut = append(f.Cut, m)
			continue
		}
		f.Messages = append(f.Messages, m)
		f.Tokens += c.cost[i]
	}
	return f
}
