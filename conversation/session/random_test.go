package session_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/weftrun/weft/conversation/session"
	"github.com/weftrun/weft/internal/racescale"
	"github.com/weftrun/weft/state/message"
)

// simulation makes random calls on several sessions: messages, tool calls, summaries, ends, resets,
// timeouts and sweeps with a failing engine. After each call, the log must have all messages and
// the view must be valid for a provider. At the end, the engine must have each generation of each
// session exactly once.
type simulation struct {
	*world
	r          *rapid.T
	ids        []string
	window     message.Window
	live       map[string]*generation
	over       []string // what the engine must receive
	calls      int
	compacting string // the session of the current Compact
	summarizer message.Summarizer
	planned    []message.Message // the messages of the last summary
}

// generation is an active session.
type generation struct {
	said    []string // the ids of its messages
	summary *message.Message
	until   int // the end of the summarized messages in the log
}

var errNoModel, errAsleep = errors.New("no model"), errors.New("asleep")

func newSimulation(w *world, r *rapid.T) *simulation {
	w.round++
	l := &simulation{world: w, r: r, live: map[string]*generation{}}
	for i := range 3 {
		l.ids = append(l.ids, fmt.Sprintf("s%d/%d", w.round, i))
	}
	l.window = message.Window{
		MaxMessages: rapid.IntRange(0, 6).Draw(r, "messages"), MaxTokens: rapid.IntRange(0, 8).Draw(r, "tokens"), Counter: one,
		KeepFirst: rapid.IntRange(0, 2).Draw(r, "first"), WholeTurns: rapid.Bool().Draw(r, "whole"),
	}
	l.summarizer = message.Summarizer{Window: message.Window{MaxTokens: 4, Counter: one}, KeepTokens: 2, Write: l.write}
	w.m = w.manager(session.Config{Window: l.window, Summarizer: l.summarizer})
	return l
}

func (l *simulation) play() {
	for range rapid.IntRange(1, racescale.Of(12, 4)).Draw(l.r, "moves") {
		id := rapid.SampledFrom(l.ids).Draw(l.r, "session")
		if l.live[id] == nil {
			l.begins(id, l.m.Create)
		}
		switch n := rapid.IntRange(0, 12).Draw(l.r, "what"); n {
		case 0, 1:
			l.compacts(id)
		case 2:
			l.must(l.m.End(l.ctx, id))
			l.ends(id)
		case 3:
			l.ends(id)
			l.begins(id, l.m.Reset)
		case 4:
			l.clock.advance(time.Hour)
			for id := range maps.Clone(l.live) {
				l.ends(id)
			}
		case 5:
			l.sweeps(rapid.Bool().Draw(l.r, "asleep"))
		default:
			for range rapid.IntRange(1, 4).Draw(l.r, "many") {
				l.extends(id)
			}
		}
		l.look(id)
	}
	l.close()
}

func (l *simulation) must(err error) {
	if err != nil {
		l.r.Fatalf("rule: %s\n got: %v", l.rule, err)
	}
}

// begins starts a session, with or without a system prompt.
func (l *simulation) begins(id string, start func(context.Context, session.Start) (session.Session, error)) {
	_, err := start(l.ctx, session.Start{ID: id, System: rapid.SampledFrom([]string{"", "s"}).Draw(l.r, "system")})
	l.must(err)
	log, err := l.m.Log(l.ctx, id)
	l.must(err)
	l.live[id] = &generation{said: idsOf(log)}
}

func (l *simulation) ends(id string) {
	l.over = append(l.over, id+" "+strings.Join(l.live[id].said, " "))
	delete(l.live, id)
}

// extends appends the next messages, in an Append or in a Turn.
func (l *simulation) extends(id string) {
	ms := l.next(id)
	var done session.Appended
	var err error
	if rapid.Bool().Draw(l.r, "turn") {
		done, err = l.m.Turn(l.ctx, id, func(_ context.Context, view message.Fitted) ([]message.Message, error) {
			l.sendable(view)
			return ms, nil
		})
		var large *message.TooLargeError
		if errors.As(err, &large) {
			return // the view is too large for a turn
		}
	} else {
		done, err = l.m.Append(l.ctx, id, ms...)
	}
	l.must(err)
	l.live[id].said = append(l.live[id].said, idsOf(done.Added)...)
}

// next returns random messages: a question, an answer, calls, or results of open calls.
func (l *simulation) next(id string) []message.Message {
	s, err := l.m.Get(l.ctx, id)
	l.must(err)
	switch n := rapid.IntRange(0, 5).Draw(l.r, "said"); {
	case n <= 1 && len(s.Unanswered) > 0:
		many := rapid.IntRange(1, len(s.Unanswered)).Draw(l.r, "results")
		return []message.Message{result(s.Unanswered[:many]...)}
	case n == 2:
		var ids []string
		for range rapid.IntRange(1, 3).Draw(l.r, "calls") {
			l.calls++
			ids = append(ids, fmt.Sprint("c", l.calls))
		}
		return []message.Message{call(ids...)}
	case n == 3:
		return []message.Message{message.Assistant("a")}
	case n == 4:
		return []message.Message{message.System("note")}
	}
	return []message.Message{message.User("q"), message.Assistant("a")}
}

// compacts calls Compact. The write function may fail, or append, compact or reset meanwhile.
func (l *simulation) compacts(id string) {
	l.compacting = id
	done, err := l.m.Compact(l.ctx, id)
	if !errors.Is(err, errNoModel) {
		l.must(err)
	}
	if !done {
		return
	}
	short, err := message.Summary{Plan: message.Plan{Messages: l.planned}, Text: "short"}.Message()
	l.must(err)
	now := l.live[id]
	now.summary, now.until = &short, 1+slices.Index(now.said, l.planned[len(l.planned)-1].ID)
}

func (l *simulation) write(_ context.Context, ms []message.Message) (string, error) {
	if _, results := message.Orphans(ms); len(results) > 0 || len(ms) == 0 {
		l.r.Fatalf("rule: a summary has messages, and no result without its call\n got: %s", text(ms))
	}
	plan := l.plan(l.compacting)
	switch rapid.IntRange(0, 5).Draw(l.r, "writing") {
	case 0:
		return "", errNoModel
	case 1:
		l.extends(l.compacting)
	case 2:
		l.compacts(l.compacting)
	case 3:
		l.ends(l.compacting)
		l.begins(l.compacting, l.m.Reset)
	}
	l.planned = plan
	return "short", nil
}

// plan returns the messages that a summary would replace.
func (l *simulation) plan(id string) []message.Message {
	all, err := l.m.Log(l.ctx, id)
	l.must(err)
	if now := l.live[id]; now.summary != nil {
		lead := slices.IndexFunc(all, func(m message.Message) bool { return m.Role != message.RoleSystem })
		all = slices.Concat(all[:lead], []message.Message{*now.summary}, all[now.until:])
	}
	p, _, err := l.summarizer.Plan(all)
	l.must(err)
	return p.Messages
}

// look checks a session after a call.
func (l *simulation) look(id string) {
	now := l.live[id]
	if now == nil {
		return
	}
	log, err := l.m.Log(l.ctx, id)
	l.must(err)
	if got := idsOf(log); !slices.Equal(got, now.said) {
		l.r.Fatalf("rule: the log keeps all messages\n got: %q\nwant: %q", got, now.said)
	}
	view, err := l.m.View(l.ctx, id)
	var large *message.TooLargeError
	if !errors.As(err, &large) {
		l.must(err)
	}
	l.sendable(view)
	want, wantErr := session.Derive(log, now.summary, now.until, l.window)
	if text(view.Messages) != text(want.Messages) || (err == nil) != (wantErr == nil) {
		l.r.Fatalf("rule: a view is Derive of the log and the summary\n got: %q, %v\nwant: %q, %v\n log: %s", textsOf(view.Messages), err, textsOf(want.Messages), wantErr, text(log))
	}
}

// sendable checks that a view has no result without its call and at most one summary.
func (l *simulation) sendable(view message.Fitted) {
	summaries := 0
	for _, m := range view.Messages {
		if _, is := message.SummaryOf(m); is {
			summaries++
		}
	}
	if _, results := message.Orphans(view.Messages); len(results) > 0 || summaries > 1 {
		l.r.Fatalf("rule: no view has a result without its call, nor two summaries\n got: %s", text(view.Messages))
	}
}

func (l *simulation) sweeps(asleep bool) {
	if l.engine.fail = nil; asleep {
		l.engine.fail = errAsleep
	}
	_, err := (&session.Sweeper{Manager: l.m}).Sweep(l.ctx)
	if l.engine.fail = nil; !errors.Is(err, errAsleep) {
		l.must(err)
	}
}

// close ends all sessions, sweeps, and checks what the engine received.
func (l *simulation) close() {
	for id := range maps.Clone(l.live) {
		l.ends(id)
	}
	for range 2 { // the first sweep ends expired sessions
		l.clock.advance(2 * time.Hour)
		l.sweeps(false)
	}
	var got []string
	for _, e := range l.engine.taken {
		if slices.Contains(l.ids, e.ID) {
			got = append(got, e.ID+" "+strings.Join(idsOf(e.Messages), " "))
		}
	}
	slices.Sort(got)
	slices.Sort(l.over)
	if !slices.Equal(got, l.over) {
		l.r.Fatalf("rule: the engine receives each generation once, with its whole log\n got: %q\nwant: %q", got, l.over)
	}
	for _, id := range l.ids {
		if _, err := l.m.Get(l.ctx, id); !errors.Is(err, session.ErrNotFound) {
			l.r.Fatalf("rule: an offloaded session is removed\n got: %v", err)
		}
	}
}

func idsOf(ms []message.Message) (ids []string) {
	for _, m := range ms {
		ids = append(ids, m.ID)
	}
	return ids
}
