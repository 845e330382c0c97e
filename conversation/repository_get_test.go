package conversation_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/conversation"
	"github.com/weftrun/weft/state/message"
)

type options = conversation.Options

func before(ms int) *time.Time { return new(noon.Add(time.Duration(ms) * time.Millisecond)) }

func TestGet_QueriesOneThread(t *testing.T) {
	w := newWorld(t, "Get queries the partition of the thread")
	w.add("t", at("a", 1))
	w.add("u", at("b", 1))
	w.want("t", options{}, "a")
	q := w.spy.queries[0]
	if q.Place != document.At("conversations", "t") || len(q.Where) > 0 || len(w.spy.queries) != 1 {
		w.Errorf("rule: %s\n got: %+v", w.rule, w.spy.queries)
	}
}

func TestGet_OldestFirst(t *testing.T) {
	w := newWorld(t, "messages are sorted by time, oldest first")
	w.add("t", at("c", 3), at("a", -2000), at("b", 2))
	w.add("t", at("z", 0))
	w.want("t", options{}, "a", "z", "b", "c")
}

func TestGet_BeforeIsExclusive(t *testing.T) {
	w := newWorld(t, "Before is exclusive")
	w.three()
	w.want("t", options{Before: before(2)}, "a")
	w.want("t", options{Before: new(noon.Add(2*time.Millisecond + time.Nanosecond))}, "a", "b")
}

func TestGet_AfterIsExclusive(t *testing.T) {
	w := newWorld(t, "After is exclusive")
	w.three()
	w.want("t", options{After: before(2)}, "c")
	w.want("t", options{After: new(noon.Add(2*time.Millisecond - time.Nanosecond))}, "b", "c")
}

func TestGet_BothBounds(t *testing.T) {
	w := newWorld(t, "the bounds are an open interval, and the epoch is a valid bound")
	w.three()
	w.want("t", options{After: before(1), Before: before(3)}, "b")
	w.want("t", options{After: before(3), Before: before(1)})
	w.want("t", options{After: before(2), Before: before(2)})
	old := at("old", 0)
	old.Created = time.Unix(-1, 0)
	w.add("t", old)
	w.want("t", options{Before: new(time.Unix(0, 0))}, "old")
	w.want("t", options{After: new(time.Unix(0, 0))}, "a", "b", "c")
}

func TestGet_LimitSelectsNewest(t *testing.T) {
	w := newWorld(t, "a limit selects the newest messages, oldest first")
	w.three()
	w.want("t", options{Limit: new(2)}, "b", "c")
	w.want("t", options{Limit: new(1)}, "c")
}

func TestGet_LimitAboveLength(t *testing.T) {
	w := newWorld(t, "a limit above the length selects all")
	w.three()
	w.want("t", options{Limit: new(3)}, "a", "b", "c")
	w.want("t", options{Limit: new(math.MaxInt)}, "a", "b", "c")
}

func TestGet_LimitZero(t *testing.T) {
	w := newWorld(t, "a limit of 0 selects no message")
	w.three()
	w.want("t", options{Limit: new(0)})
	w.want("t", options{Limit: new(0), After: before(1)})
}

func TestGet_NegativeLimitDropsOldest(t *testing.T) {
	w := newWorld(t, "a limit of -n drops the n oldest")
	w.three()
	w.want("t", options{Limit: new(-1)}, "b", "c")
	w.want("t", options{Limit: new(-2)}, "c")
	for _, n := range []int{-3, -4, math.MinInt} {
		w.want("t", options{Limit: new(n)})
	}
	w.want("t", options{Limit: new(-1), After: before(1)}, "c")
	if err := (options{Limit: new(-1)}).Check(); !errors.Is(err, conversation.ErrInvalidLimit) {
		w.Errorf("rule: Check rejects negative limits\n got: %v", err)
	}
	for _, o := range []options{{}, {Limit: new(0)}, {Limit: new(1)}} {
		if err := o.Check(); err != nil {
			w.Errorf("got %v for a valid limit", err)
		}
	}
}

func TestGet_NoLimit(t *testing.T) {
	w := newWorld(t, "without a limit Get returns all messages")
	var ids []string
	for i := range 1200 {
		ids = append(ids, fmt.Sprintf("%04d", i))
	}
	for half := range slices.Chunk(ids, 600) {
		w.add("t", sequence(half)...)
	}
	w.want("t", options{}, ids...)
}

func TestGet_StoreFailure(t *testing.T) {
	w := newWorld(t, "Get returns the error of the store")
	w.spy.refuse = errors.New("no such cable")
	if _, err := w.repo.Get(w.ctx, "t", options{}); !errors.Is(err, w.spy.refuse) || !strings.Contains(err.Error(), `thread "t"`) {
		w.Errorf("got %v", err)
	}
}

func TestGet_UnknownThread(t *testing.T) {
	w := newWorld(t, "an unknown thread is empty")
	if ms := w.get("unknown", options{}); ms == nil || len(ms) > 0 {
		w.Errorf("got %v, want an empty list that is not nil", ms)
	}
}

func TestGet_ReturnsCopies(t *testing.T) {
	w := newWorld(t, "the caller owns the returned messages")
	m, _ := at("a", 1).With("k", "v")
	w.add("t", m)
	m.Content[0].Text = "spoilt"
	m.Metadata["k"][1] = 'X'
	got := w.get("t", options{})[0]
	got.Content[0].Text = "spoilt"
	got.Metadata["k"][1] = 'X'
	if got := w.get("t", options{})[0]; got.Text() != "text of a" || string(got.Metadata["k"]) != `"v"` {
		w.Errorf("rule: %s\n got: %s", w.rule, text(got))
	}
}

// sequence returns messages with these ids and one time.
func sequence(ids []string) (ms []message.Message) {
	for _, id := range ids {
		ms = append(ms, at(id, 5))
	}
	return ms
}

func (w *world) three() {
	w.Helper()
	w.add("t", at("a", 1), at("b", 2), at("c", 3))
}

func TestGet_EqualTimesInOrderOfAdding(t *testing.T) {
	w := newWorld(t, "messages of one time keep the order of adding")
	var ids []string
	for i := range 40 {
		id := fmt.Sprint((i * 7) % 40) // neither ascending nor descending
		ids = append(ids, id, "x"+id)
		w.add("t", said(message.RoleUser, id, 5), said(message.RoleAssistant, "x"+id, 5))
	}
	w.want("t", options{}, ids...)
	w.want("t", options{Limit: new(3)}, ids[len(ids)-3:]...)
	w.want("t", options{Limit: new(-77)}, ids[len(ids)-3:]...)
}

func TestGet_LimitAfterFilters(t *testing.T) {
	w := newWorld(t, "Limit applies after the bounds and the roles")
	w.add("t",
		said(message.RoleUser, "u1", 1), said(message.RoleAssistant, "a1", 2),
		said(message.RoleUser, "u2", 3), said(message.RoleAssistant, "a2", 4), said(message.RoleTool, "r2", 5),
		said(message.RoleUser, "u3", 6), said(message.RoleSystem, "s", 7), said(message.RoleAssistant, "a3", 8),
	)
	user := []message.Role{message.RoleUser}
	w.want("t", options{Roles: user}, "u1", "u2", "u3")
	w.want("t", options{Roles: user, Limit: new(2)}, "u2", "u3")
	w.want("t", options{Roles: user, Limit: new(-1)}, "u2", "u3")
	w.want("t", options{Roles: user, Limit: new(1), Before: before(6)}, "u2")
	w.want("t", options{Roles: []message.Role{message.RoleTool, message.RoleSystem}}, "r2", "s")
	w.want("t", options{Roles: []message.Role{message.RoleAssistant}, After: before(2), Before: before(8), Limit: new(5)}, "a2")
	w.want("t", options{Roles: []message.Role{}, Limit: new(1)}, "a3")
}

// It adds 20 messages with one time, and reads them page by page in both directions.
func TestPage_EachMessageOnce(t *testing.T) {
	w := newWorld(t, "the pages have each message once")
	w.repo.Now = func() time.Time { return noon }
	var ms []message.Message
	for i := range 20 {
		m := message.User(fmt.Sprint("text ", i))
		if i%2 == 1 {
			m = message.Assistant(fmt.Sprint("text ", i))
		}
		ms = append(ms, m)
	}
	want := idsOf(w.add("t", ms...))
	w.add("u", at("of another thread", 0))
	page := func(o options) conversation.Page {
		w.Helper()
		p, err := w.repo.Page(w.ctx, "t", o)
		if err != nil {
			w.Fatalf("page: %v", err)
		}
		if got := w.get("t", o); text(got) != text(p.Messages) || len(p.Cursors) != len(p.Messages) {
			w.Fatalf("rule: a page has the messages of Get and a cursor for each\n got: %s with %d\nwant: %s", text(p.Messages), len(p.Cursors), text(got))
		}
		return p
	}
	for size := 1; size <= 21; size += 4 {
		var back, forth []string
		o := options{Limit: &size}
		for range 21 {
			p := page(o)
			if len(p.Messages) == 0 {
				break
			}
			back = append(idsOf(p.Messages), back...)
			o.OlderThan = &p.Cursors[0]
		}
		first := page(options{}).Cursors[0]
		o = options{Limit: &size, NewerThan: &first}
		for range 21 {
			p := page(o)
			if len(p.Messages) == 0 {
				break
			}
			forth = append(forth, idsOf(p.Messages)...)
			o.NewerThan = &p.Cursors[len(p.Cursors)-1]
		}
		if !slices.Equal(back, want) {
			w.Errorf("rule: %s, paged back by %d\n got: %q\nwant: %q", w.rule, size, back, want)
		}
		if !slices.Equal(forth, want[1:]) {
			w.Errorf("rule: %s, paged forth by %d\n got: %q\nwant: %q", w.rule, size, forth, want[1:])
		}
	}
	tenth := page(options{}).Cursors[10]
	w.add("t", at("older", -1), at("newer", 1))
	w.want("t", options{OlderThan: &tenth, Limit: new(2)}, want[8:10]...)
	w.want("t", options{OlderThan: &tenth, Limit: new(-8)}, want[7:10]...)
	w.want("t", options{OlderThan: &tenth, Limit: new(math.MinInt)})
	w.want("t", options{OlderThan: &tenth, Limit: new(0)})
	w.want("t", options{OlderThan: &tenth, Roles: []message.Role{message.RoleUser}, Limit: new(1)}, want[8])
	w.want("t", options{OlderThan: &tenth, Before: before(0)}, "older")
	w.want("t", options{NewerThan: &tenth, Limit: new(2)}, want[11:13]...)
	w.want("t", options{NewerThan: &tenth, Limit: new(-9)}, "newer")
	w.want("t", options{NewerThan: &tenth, After: before(0)}, "newer")
	if read, err := conversation.ParseCursor(tenth.String()); err != nil || !read.Created.Equal(tenth.Created) || read.Seq != tenth.Seq {
		w.Errorf("rule: ParseCursor reads the text of a cursor\n got: %v, %v\nwant: %v", read, err, tenth)
	}
	if _, err := w.repo.Page(w.ctx, "t", options{OlderThan: &tenth, NewerThan: &tenth}); !errors.Is(err, conversation.ErrCursor) {
		w.Errorf("rule: two cursors are rejected\n got: %v", err)
	}
}

func TestGet_PreservesMessages(t *testing.T) {
	w := newWorld(t, "Get returns messages as they were added")
	data, _ := message.Data(map[string]any{"n": 1.5, "list": []int{1}})
	given := []message.Message{
		{ID: "s", Role: message.RoleSystem, Content: []message.Part{message.Text("Be kind.")}},
		{ID: "u", Role: message.RoleUser, Name: "Ada", Content: []message.Part{message.Text("ä\u2028<>&"), data, message.ImageURL("https://example.org/a.png")}},
		{ID: "c", Role: message.RoleAssistant, Calls: []message.Call{{ID: "1", Name: "f", Arguments: []byte(`{"b":1,"a":1e3}`)}, {ID: "2", Name: "g"}}},
		{ID: "r", Role: message.RoleTool, Results: []message.Result{message.Failed("2", "no"), message.ResultOf("1", "yes")}},
	}
	for i := range given {
		given[i].Created = noon.Add(time.Duration(i) * time.Nanosecond).In(time.FixedZone("", 7200))
		given[i].Usage = &message.Usage{Input: i, Output: 2}
		given[i].Extra = map[string]json.RawMessage{"later": json.RawMessage(`[1,{"x":null}]`)}
	}
	w.add("t", given...)
	if got := w.get("t", options{}); text(got) != text(given) {
		w.Errorf("rule: %s\n got: %s\nwant: %s", w.rule, text(got), text(given))
	}
}

func TestGet_IsOneQuery(t *testing.T) {
	w := newWorld(t, "the store sorts, filters and limits, in one call")
	w.three()
	w.want("t", options{Limit: new(2), Before: before(9), After: before(0), Roles: []message.Role{message.RoleUser}}, "b", "c")
	q := w.spy.queries[0]
	if len(w.spy.queries) != 1 || q.Limit == nil || *q.Limit != 2 || !q.Reverse || q.From == "" || q.Until == "" || len(q.Where) != 1 || len(q.Sort) > 0 {
		w.Errorf("rule: %s\n got: %+v", w.rule, w.spy.queries)
	}
}
