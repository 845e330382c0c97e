package message

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
)

// Summarizer shortens a conversation that exceeds the window: it replaces the oldest whole rounds
// with one message that summarizes them.
//
// It can run in parallel with the conversation. Plan selects the messages, Summarize calls Write,
// and Apply edits the log if those messages have not changed. Messages that were added later
// remain. The caller may run the three steps in one node, in several, or in its own goroutine.
type Summarizer struct {
	// Window is what the conversation should fit into. It needs MaxTokens or MaxMessages.
	Window Window
	// KeepTokens and KeepMessages are the limits of the newest part, which is not summarized; 0
	// means half of the window's limit.
	KeepTokens, KeepMessages int
	// Write returns a summary of the messages. The first may be an earlier summary, which the new
	// one replaces. Results whose call is in an earlier summary are omitted, because models reject
	// them.
	Write func(ctx context.Context, ms []Message) (string, error)
}

// SummaryPrefix begins the text of every summary.
const SummaryPrefix = "Summary of previous context: "

// summaryKey is where the metadata of a summary is.
const summaryKey = "summary"

// SummaryInfo describes a summary. It is in the message's metadata under "summary".
type SummaryInfo struct {
	From  string `json:"from"`  // id of the first message it replaced
	To    string `json:"to"`    // id of the last
	Count int    `json:"count"` // summarized messages, including those of earlier summaries
}

// SummaryOf returns what m summarizes; ok is false when m is not a summary.
func SummaryOf(m Message) (info SummaryInfo, ok bool) {
	if m.Role != RoleSystem {
		return info, false
	}
	ok, err := m.Meta(summaryKey, &info)
	return info, ok && err == nil && info.Count > 0
}

// Plan is what to summarize next: whole rounds, from the oldest on, and the earlier
// summary if there is one. It can be stored as JSON.
type Plan struct {
	Messages []Message `json:"messages"` // in order
}

// Summary is a plan that was carried out.
type Summary struct {
	Plan Plan   `json:"plan"`
	Text string `json:"text"` // without SummaryPrefix
}

// StaleError is returned when the messages that a summary replaces are no longer as
// they were when it was planned. The log is unchanged.
type StaleError struct {
	Gone    []string // ids of messages that are not in the log
	Changed []string // ids of messages with other content, or in another order
}

func (e *StaleError) Error() string {
	return fmt.Sprintf("message: the summary is stale: gone %q, changed %q", e.Gone, e.Changed)
}

// Plan returns what to summarize in ms; ok is false when ms fits into the window, or
// when no whole round before the newest part can go. It is pure. A Summarizer without
// a bound, or with a negative one, is an ErrLimit.
//
// The system messages that lead stay out of it. The part ends before a user message,
// and no call is parted from its results; it leaves no more than the Keep bounds,
// or, where the last round is larger, the last round. A call that is still open goes with its
// round; a result that comes later is an orphan, which a Window leaves out and names.
func (s Summarizer) Plan(ms []Message) (p Plan, ok bool, err error) {
	keep, err := s.keep()
	if err != nil {
		return p, false, err
	}
	c := cutter{Window: s.Window, ms: ms, pairing: pair(ms)}
	if err := c.weigh(); err != nil {
		return p, false, err
	}
	if c.holds(len(ms), add(c.cost)) {
		return p, false, nil
	}
	part := oldest(ms[:c.round(keep)])
	reported, _ := withoutOrphans(part)
	if !slices.ContainsFunc(reported, func(m Message) bool { _, sum := SummaryOf(m); return !sum }) {
		return p, false, nil
	}
	return Plan{part}, true, nil
}

// keep returns the bounds of the part that stays.
func (s Summarizer) keep() (Window, error) {
	w := s.Window
	if w.MaxTokens < 0 || w.MaxMessages < 0 || s.KeepTokens < 0 || s.KeepMessages < 0 || w.MaxTokens+w.MaxMessages == 0 {
		return w, fmt.Errorf("%w: a Summarizer for %d tokens and %d messages, which keeps %d and %d",
			ErrLimit, w.MaxTokens, w.MaxMessages, s.KeepTokens, s.KeepMessages)
	}
	return Window{
		MaxTokens:   or(s.KeepTokens, (w.MaxTokens+1)/2),
		MaxMessages: or(s.KeepMessages, (w.MaxMessages+1)/2),
	}, nil
}

func add(all []int) (n int) {
	for _, k := range all {
		n += k
	}
	return n
}

// round returns the index of the user message that the part to keep begins with: the
// first from which on all fits into keep, or the last; 0 when there is none.
func (c *cutter) round(keep Window) (best int) {
	n, tokens, reach := 0, 0, len(c.ms)
	for i := len(c.ms) - 1; i >= 0; i-- {
		n, tokens, reach = n+1, tokens+c.cost[i], min(reach, c.first(i))
		if !keep.holds(n, tokens) && best > 0 {
			break
		}
		if c.ms[i].Role == RoleUser && reach >= i {
			best = i
		}
	}
	return best
}

// oldest returns ms without the system messages that lead, but with summaries.
func oldest(ms []Message) (part []Message) {
	lead := leading(ms)
	for i, m := range ms {
		if _, sum := SummaryOf(m); sum || i >= lead {
			part = append(part, m)
		}
	}
	return part
}

// Summarize calls Write for the plan's messages. An empty text is an ErrEmptySummary.
func (s Summarizer) Summarize(ctx context.Context, p Plan) (Summary, error) {
	ms, _ := withoutOrphans(p.Messages)
	text, err := s.Write(ctx, ms)
	if err == nil && text == "" {
		err = ErrEmptySummary
	}
	if err != nil {
		return Summary{}, fmt.Errorf("message: summarizing %d messages: %w", len(p.Messages), err)
	}
	return Summary{Plan: p, Text: text}, nil
}

// Message returns the message that takes the place of those in the plan. Its id is
// derived from theirs and from the text.
func (s Summary) Message() (Message, error) {
	ms := s.Plan.Messages
	if len(ms) == 0 {
		return Message{}, errors.New("message: a summary of nothing")
	}
	info := SummaryInfo{From: ms[0].ID, To: ms[len(ms)-1].ID}
	ids := ""
	for _, m := range ms {
		info.Count++
		if earlier, ok := SummaryOf(m); ok {
			info.Count += earlier.Count - 1
			info.From = earlier.From
		}
		ids += fmt.Sprintf("%q", m.ID)
	}
	m := System(SummaryPrefix + s.Text)
	m.ID = "summary-" + idOf(sha256.Sum256([]byte(ids+s.Text)))
	return m.With(summaryKey, info)
}

// Apply replaces the messages of the plan by the summary, in the place of the first of
// them. What was added or put between them since stays. Where one of them is gone or
// changed, it returns a *StaleError and changes nothing.
func (s Summary) Apply(l *Log) error {
	m, err := s.Message()
	if err != nil {
		return err
	}
	if err := s.fresh(l); err != nil {
		return err
	}
	ops := []op{{kind: opReplace, id: s.Plan.Messages[0].ID, m: &m}}
	for _, old := range s.Plan.Messages[1:] {
		ops = append(ops, op{kind: opRemove, id: old.ID})
	}
	return l.write(ops)
}

// fresh returns a *StaleError unless the log holds the messages of the plan as they are
// in it, in that order.
func (s Summary) fresh(l *Log) error {
	place := map[string]int{}
	for i, m := range l.All() {
		place[m.ID] = i
	}
	stale, last := new(StaleError), -1
	for _, m := range s.Plan.Messages {
		at, ok := place[m.ID]
		switch {
		case !ok:
			stale.Gone = append(stale.Gone, m.ID)
		case at <= last || !same(l.At(at), m):
			stale.Changed = append(stale.Changed, m.ID)
		default:
			last = at
		}
	}
	if len(stale.Gone)+len(stale.Changed) > 0 {
		return stale
	}
	return nil
}

func same(a, b Message) bool {
	x, errX := sumOf(a)
	y, errY := sumOf(b)
	return errX == nil && errY == nil && x == y
}

// Compaction is what Compact did.
type Compaction struct {
	Fitted           // what to send
	Summary *Summary // what was applied to the log; nil for nothing
	// Failed is why a summary that was due could not be had. The log is unchanged, and
	// Fitted is cut by the window alone.
	Failed error
}

// Compact plans, summarizes and applies in one go, and returns what of the log fits
// into the window then. Where no summary can be had the window slides instead.
func (s Summarizer) Compact(ctx context.Context, l *Log) (c Compaction, err error) {
	plan, due, err := s.Plan(l.Slice())
	if err != nil {
		return c, err
	}
	if due {
		sum, err := s.Summarize(ctx, plan)
		if err == nil {
			err = sum.Apply(l)
		}
		c.Failed = err
		if err == nil {
			c.Summary = &sum
		}
	}
	c.Fitted, err = s.Window.Fit(l.Slice())
	return c, err
}
