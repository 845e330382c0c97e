package conversation_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weftrun/weft/conversation"
	"github.com/weftrun/weft/internal/racescale"
	"github.com/weftrun/weft/state/message"
)

func TestAdd_ConcurrentWriters(t *testing.T) {
	w := newWorld(t, "concurrent Adds lose no message")
	const writers, each = 4, 10
	var wg sync.WaitGroup
	repo, err := conversation.NewRepository(w.spy.Store)
	if err != nil {
		w.Fatal(err)
	}
	for i := range writers {
		wg.Go(func() {
			for j := range each {
				if _, err := repo.Add(w.ctx, "t", at(fmt.Sprint(i, "/", j), 5), at(fmt.Sprint(i, "+", j), 5)); err != nil {
					w.Errorf("add: %v", err)
				}
			}
		})
	}
	wg.Wait()
	ids := idsOf(w.get("t", options{}))
	if len(ids) != 2*writers*each {
		w.Errorf("rule: %s\n got: %d of %d messages", w.rule, len(ids), 2*writers*each)
	}
	for i := range writers {
		for j := range each {
			at := slices.Index(ids, fmt.Sprint(i, "/", j))
			if at < 0 || at+1 == len(ids) || ids[at+1] != fmt.Sprint(i, "+", j) || j > 0 && slices.Index(ids, fmt.Sprint(i, "/", j-1)) > at {
				w.Errorf("rule: the messages of an Add stay together, and the Adds of a writer in order\n got: %q", ids)
				return
			}
		}
	}
}

// TestRepository_MatchesAList compares random Adds and Gets with a list.
func TestRepository_MatchesAList(t *testing.T) {
	w := newWorld(t, "the results are those of a list in memory")
	n := 0
	rapid.Check(w.TB, func(r *rapid.T) {
		n++
		m := model{}
		for thread := fmt.Sprint("random", n); len(m) < racescale.Of(12, 4); {
			ms := rapid.SliceOfN(rapid.Custom(draw), 1, 4).Draw(r, "add")
			w.add(thread, ms...)
			m.add(ms)
			o := rapid.Custom(drawOptions).Draw(r, "get")
			if got, want := text(w.get(thread, o)), text(m.get(o)); got != want {
				r.Fatalf("rule: %s\n get: %s\n got: %s\nwant: %s", w.rule, text(o), got, want)
			}
			if rapid.IntRange(0, 9).Draw(r, "stop") == 0 {
				break
			}
		}
	})
}

var roles = []message.Role{message.RoleUser, message.RoleAssistant, message.RoleSystem, message.RoleTool}

func draw(r *rapid.T) message.Message {
	return said(rapid.SampledFrom(roles).Draw(r, "role"), fmt.Sprint(rapid.IntRange(0, 20).Draw(r, "id")), rapid.IntRange(0, 5).Draw(r, "ms"))
}

func drawOptions(r *rapid.T) (o conversation.Options) {
	bound := func(name string) *time.Time {
		if !rapid.Bool().Draw(r, name+"?") {
			return nil
		}
		return before(rapid.IntRange(-1, 6).Draw(r, name))
	}
	o.Before, o.After = bound("before"), bound("after")
	if rapid.Bool().Draw(r, "roles?") {
		o.Roles = rapid.SliceOfN(rapid.SampledFrom(roles), 0, 2).Draw(r, "roles")
	}
	if rapid.Bool().Draw(r, "limit?") {
		o.Limit = new(rapid.IntRange(-15, 15).Draw(r, "limit"))
	}
	return o
}

// model is the reference model of a thread: its messages in the order of their first Add.
type model []message.Message

func (m *model) add(ms []message.Message) {
	for _, msg := range ms {
		if i := slices.IndexFunc(*m, func(o message.Message) bool { return o.ID == msg.ID }); i >= 0 {
			(*m)[i] = msg
		} else {
			*m = append(*m, msg)
		}
	}
}

func (m model) get(o conversation.Options) []message.Message {
	list := slices.Clone(m)
	slices.SortStableFunc(list, func(a, b message.Message) int { return a.Created.Compare(b.Created) })
	list = slices.DeleteFunc(list, func(x message.Message) bool {
		return o.Before != nil && !x.Created.Before(*o.Before) || o.After != nil && !x.Created.After(*o.After) ||
			len(o.Roles) > 0 && !slices.Contains(o.Roles, x.Role)
	})
	switch {
	case o.Limit != nil && *o.Limit < 0:
		list = list[min(-*o.Limit, len(list)):]
	case o.Limit != nil:
		list = list[len(list)-min(*o.Limit, len(list)):]
	}
	if list == nil {
		list = []message.Message{}
	}
	return list
}
