package memorytest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint/memory"
	"github.com/weftrun/weft/internal/testreport"
)

// broken is a way to break a sound store, and the rules that must complain.
type broken struct {
	what     string
	caughtBy []string
	store    func(s sound) memory.Store
}

// faulty is a store with some methods of its own.
type faulty struct {
	sound
	batch      func(ctx context.Context, ns []string, ops []memory.Op) ([]memory.Item, error)
	get        func(ctx context.Context, ns []string, key string) (memory.Item, error)
	search     func(ctx context.Context, q memory.Query) (memory.Page, error)
	namespaces func(ctx context.Context, q memory.NamespaceQuery) ([][]string, error)
}

func (s *faulty) Put(ctx context.Context, ns []string, key string, value json.RawMessage, o memory.Options) (memory.Item, error) {
	if s.batch == nil || value == nil {
		return s.sound.Put(ctx, ns, key, value, o)
	}
	items, err := s.batch(ctx, ns, []memory.Op{{Key: key, Value: value, Options: o}})
	if err != nil {
		return memory.Item{}, err
	}
	return items[0], nil
}

func (s *faulty) Delete(ctx context.Context, ns []string, key string) error {
	if s.batch == nil {
		return s.sound.Delete(ctx, ns, key)
	}
	_, err := s.batch(ctx, ns, []memory.Op{{Key: key}})
	return err
}

func (s *faulty) Batch(ctx context.Context, ns []string, ops []memory.Op) ([]memory.Item, error) {
	if s.batch == nil {
		return s.sound.Batch(ctx, ns, ops)
	}
	return s.batch(ctx, ns, ops)
}

func (s *faulty) Get(ctx context.Context, ns []string, key string) (memory.Item, error) {
	if s.get == nil {
		return s.sound.Get(ctx, ns, key)
	}
	return s.get(ctx, ns, key)
}

func (s *faulty) Search(ctx context.Context, q memory.Query) (memory.Page, error) {
	if s.search == nil {
		return s.sound.Search(ctx, q)
	}
	return s.search(ctx, q)
}

func (s *faulty) Namespaces(ctx context.Context, q memory.NamespaceQuery) ([][]string, error) {
	if s.namespaces == nil {
		return s.sound.Namespaces(ctx, q)
	}
	return s.namespaces(ctx, q)
}

// writes changes what is written.
func writes(change func(*memory.Op)) func(sound) memory.Store {
	return func(s sound) memory.Store {
		return &faulty{sound: s, batch: func(ctx context.Context, ns []string, ops []memory.Op) ([]memory.Item, error) {
			ops = slices.Clone(ops)
			for i := range ops {
				change(&ops[i])
			}
			return s.Batch(ctx, ns, ops)
		}}
	}
}

// asks changes what is searched for.
func asks(change func(*memory.Query)) func(sound) memory.Store {
	return func(s sound) memory.Store {
		return &faulty{sound: s, search: func(ctx context.Context, q memory.Query) (memory.Page, error) {
			change(&q)
			return s.Search(ctx, q)
		}}
	}
}

// finds changes what a search returns.
func finds(change func(q memory.Query, p *memory.Page)) func(sound) memory.Store {
	return func(s sound) memory.Store {
		return &faulty{sound: s, search: func(ctx context.Context, q memory.Query) (memory.Page, error) {
			page, err := s.Search(ctx, q)
			change(q, &page)
			return page, err
		}}
	}
}

// lists changes what is asked of namespaces.
func lists(change func(*memory.NamespaceQuery)) func(sound) memory.Store {
	return func(s sound) memory.Store {
		return &faulty{sound: s, namespaces: func(ctx context.Context, q memory.NamespaceQuery) ([][]string, error) {
			change(&q)
			return s.Namespaces(ctx, q)
		}}
	}
}

// renames stores items under another namespace and key without an error.
func renames(rename func(ns []string, key string) ([]string, string)) func(sound) memory.Store {
	return func(s sound) memory.Store {
		back := func(i memory.Item, ns []string, key string) memory.Item {
			if i.Version != 0 {
				i.Namespace, i.Key = slices.Clone(ns), key
			}
			return i
		}
		return &faulty{
			sound: s,
			batch: func(ctx context.Context, ns []string, ops []memory.Op) (items []memory.Item, err error) {
				for _, o := range ops {
					renamed, key := rename(ns, o.Key)
					got, err := s.Batch(ctx, renamed, []memory.Op{{Key: key, Value: o.Value, Options: o.Options}})
					if err != nil {
						return nil, err
					}
					items = append(items, back(got[0], ns, o.Key))
				}
				return items, nil
			},
			get: func(ctx context.Context, ns []string, key string) (memory.Item, error) {
				renamed, other := rename(ns, key)
				i, err := s.Get(ctx, renamed, other)
				return back(i, ns, key), err
			},
		}
	}
}

var brokenStores = []broken{
	{"ignores versions", []string{"IfAbsent", "IfVersion", "DeleteIf", "OneWinner"}, writes(func(o *memory.Op) { o.If = nil })},
	{"ignores TTLs", []string{"TTL", "ExpiredIsGone"}, writes(func(o *memory.Op) { o.TTL, o.Refresh = 0, false })},
	{"never refreshes", []string{"Refresh"}, writes(func(o *memory.Op) { o.Refresh = false })},
	{"always refreshes", []string{"Refresh"}, writes(func(o *memory.Op) { o.Refresh = o.TTL > 0 })},
	{"takes bad TTLs for none", []string{"BadTTLs"}, writes(func(o *memory.Op) { o.TTL = max(o.TTL, 0); o.Refresh = o.Refresh && o.TTL > 0 })},
	{"rounds numbers", []string{"ValuesComeBack", "FilterNumbers"}, writes(roundNumbers)},
	{"batches one by one", []string{"Batch", "BatchIsAtomic", "BadBatches"}, oneByOne},
	{"ignores case in namespaces", []string{"Isolation", "HostileNamespaces"}, renames(func(ns []string, key string) ([]string, string) {
		lower := []string{}
		for _, l := range ns {
			lower = append(lower, strings.ToLower(l))
		}
		return lower, key
	})},
	{"joins namespaces with dots", []string{"Isolation"}, renames(func(ns []string, key string) ([]string, string) {
		return []string{cmp.Or(strings.Join(ns, "."), " ")}, key
	})},
	{"trims keys", []string{"HostileKeys"}, renames(func(ns []string, key string) ([]string, string) {
		return ns, cmp.Or(strings.TrimSpace(key), key)
	})},
	{"cuts long keys", []string{"LongNames"}, renames(func(ns []string, key string) ([]string, string) {
		return ns, key[:min(len(key), 1000)]
	})},
	{"ignores filters", []string{"FilterTable", "HostileFilters", "BadFilters"}, asks(func(q *memory.Query) { q.Where = nil })},
	{"takes the first condition only", []string{"FilterIsAnd"}, asks(func(q *memory.Query) { q.Where = q.Where[:min(1, len(q.Where))] })},
	{"takes missing fields for null", []string{"FilterMissingAndNull"}, asks(func(q *memory.Query) {
		q.Where = slices.DeleteFunc(slices.Clone(q.Where), func(c memory.Condition) bool { return c.Op == memory.Eq && c.Value == raw("null") })
	})},
	{"compares with floats", []string{"FilterNumbers"}, asks(func(q *memory.Query) {
		q.Where = slices.Clone(q.Where)
		for i, c := range q.Where {
			var f float64
			if r, ok := c.Value.(raw); ok && json.Unmarshal([]byte(r), &f) == nil && string(r) != "null" {
				q.Where[i].Value = f
			}
		}
	})},
	{"takes unknown operators for $eq", []string{"BadFilters"}, asks(func(q *memory.Query) {
		q.Where = slices.Clone(q.Where)
		for i, c := range q.Where {
			if !slices.Contains([]memory.Operator{memory.Ne, memory.Gt, memory.Gte, memory.Lt, memory.Lte}, c.Op) {
				q.Where[i].Op = memory.Eq
			}
		}
	})},
	{"ignores text", []string{"TextAllWords", "HostileTexts", "BadTexts"}, asks(func(q *memory.Query) { q.Text = "" })},
	{"folds accents", []string{"TextFolding"}, asks(func(q *memory.Query) { q.Text = strings.ReplaceAll(q.Text, "caf\u00e9", "cafe") })},
	{"has no rank", []string{"TextRank"}, asks(func(q *memory.Query) { q.Order = cmp.Or(q.Order, memory.ByKey) })},
	{"ignores orders", []string{"Order", "BadQueries"}, asks(func(q *memory.Query) { q.Order = memory.ByKey })},
	{"takes prefixes for text", []string{"FilterBelowPrefix", "HostilePrefixes"}, prefixIsText},
	{"ignores limits", []string{"Limit", "BadQueries"}, asks(func(q *memory.Query) { q.Limit = 1000 })},
	{"begins anew at a bad cursor", []string{"BadCursors", "CursorsAreOfTheirQuery"}, func(s sound) memory.Store {
		return &faulty{sound: s, search: func(ctx context.Context, q memory.Query) (memory.Page, error) {
			page, err := s.Search(ctx, q)
			if q.Cursor = ""; errors.Is(err, memory.ErrCursor) {
				return s.Search(ctx, q)
			}
			return page, err
		}}
	}},
	{"pages by offset", []string{"PagingWhileWriting"}, byOffset},
	{"loses the last of a page", []string{"Paging", "PagingInEveryOrder"}, finds(func(q memory.Query, p *memory.Page) {
		if p.Next != "" {
			p.Items = p.Items[:max(0, len(p.Items)-1)]
		}
	})},
	{"has one page only", []string{"Paging"}, finds(func(q memory.Query, p *memory.Page) { p.Next = "" })},
	{"ignores suffixes", []string{"Namespaces"}, lists(func(q *memory.NamespaceQuery) { q.Suffix = nil })},
	{"does not cut namespaces", []string{"NamespacesCut"}, lists(func(q *memory.NamespaceQuery) { q.Depth = 0 })},
	{"lists namespaces from the first", []string{"NamespacesPaging"}, lists(func(q *memory.NamespaceQuery) { q.After = nil })},
	{"ignores contexts", []string{"CancelledContext"}, func(s sound) memory.Store {
		return &faulty{sound: s, get: func(ctx context.Context, ns []string, key string) (memory.Item, error) {
			return s.Get(context.WithoutCancel(ctx), ns, key)
		}}
	}},
	{"starts versions at one", []string{"VersionsNeverComeBack"}, func(s sound) memory.Store {
		first := map[string]uint64{}
		var mu sync.Mutex
		return &faulty{sound: s, batch: func(ctx context.Context, ns []string, ops []memory.Op) ([]memory.Item, error) {
			mu.Lock()
			defer mu.Unlock()
			items, err := s.Batch(ctx, ns, ops)
			for i := range items {
				if items[i].Version == 0 {
					delete(first, ops[i].Key)
				} else if first[ops[i].Key] == 0 {
					first[ops[i].Key] = items[i].Version
				}
				items[i].Version -= max(first[ops[i].Key], 1) - 1
			}
			return items, err
		}}
	}},
	{"names no conflict", []string{"ConflictNamesThePlace"}, func(s sound) memory.Store {
		return &faulty{sound: s, batch: func(ctx context.Context, ns []string, ops []memory.Op) ([]memory.Item, error) {
			items, err := s.Batch(ctx, ns, ops)
			if errors.Is(err, memory.ErrConflict) {
				err = memory.ErrConflict
			}
			return items, err
		}}
	}},
	{"shares what it returns", []string{"SlicesAreNotShared"}, func(s sound) memory.Store {
		cache := map[string]memory.Item{}
		return &faulty{sound: s, get: func(ctx context.Context, ns []string, key string) (memory.Item, error) {
			if i, ok := cache[fmt.Sprint(ns, key)]; ok {
				return i, nil
			}
			i, err := s.Get(ctx, ns, key)
			if err == nil {
				cache[fmt.Sprint(ns, key)] = i
			}
			return i, err
		}}
	}},
	{"gives back what it was given", []string{"ValuesComeBack"}, func(s sound) memory.Store {
		return &faulty{sound: s, get: func(ctx context.Context, ns []string, key string) (memory.Item, error) {
			i, err := s.Get(ctx, ns, key)
			i.Value = bytes.ReplaceAll(i.Value, []byte(":"), []byte(": "))
			return i, err
		}}
	}},
	{"shows what has ended in searches", []string{"ExpiredIsGone", "ExpireMany", "TTLOfAnotherPut"}, func(s sound) memory.Store {
		lasting := newSound()
		return &faulty{
			sound: s,
			batch: func(ctx context.Context, ns []string, ops []memory.Op) ([]memory.Item, error) {
				items, err := s.Batch(ctx, ns, ops)
				if err == nil {
					ops = slices.Clone(ops)
					for i := range ops {
						ops[i].Options = memory.Options{}
					}
					_, err = lasting.Batch(ctx, ns, ops)
				}
				return items, err
			},
			search: lasting.Search,
		}
	}},
}

func roundNumbers(o *memory.Op) {
	var v any
	if json.Unmarshal(o.Value, &v) == nil {
		o.Value, _ = json.Marshal(v)
	}
}

func oneByOne(s sound) memory.Store {
	return &faulty{sound: s, batch: func(ctx context.Context, ns []string, ops []memory.Op) (items []memory.Item, err error) {
		for _, o := range ops {
			got, err := s.Batch(ctx, ns, []memory.Op{o})
			if err != nil {
				return nil, err
			}
			items = append(items, got...)
		}
		return append(items, make([]memory.Item, max(0, 2-len(items)))...), nil
	}}
}

// prefixIsText takes a prefix for the beginning of a path.
func prefixIsText(s sound) memory.Store {
	return &faulty{sound: s, search: func(ctx context.Context, q memory.Query) (memory.Page, error) {
		prefix := strings.ReplaceAll(strings.Join(q.Prefix, "/"), "*", "")
		q.Prefix, q.Limit = nil, memory.MaxLimit
		page, err := s.Search(ctx, q)
		page.Items = slices.DeleteFunc(page.Items, func(f memory.Found) bool { return !strings.HasPrefix(strings.Join(f.Namespace, "/"), prefix) })
		return page, err
	}}
}

// byOffset counts instead of remembering a place.
func byOffset(s sound) memory.Store {
	return &faulty{sound: s, search: func(ctx context.Context, q memory.Query) (memory.Page, error) {
		offset, limit := 0, cmp.Or(q.Limit, 100)
		if fmt.Sscan(q.Cursor, &offset); q.Cursor != "" && offset == 0 {
			return memory.Page{}, memory.ErrCursor
		}
		q.Cursor, q.Limit = "", memory.MaxLimit
		page, err := s.Search(ctx, q)
		all := page.Items[min(offset, len(page.Items)):]
		page.Items, page.Next = all[:min(limit, len(all))], ""
		if len(all) > limit {
			page.Next = fmt.Sprint(offset + limit)
		}
		return page, err
	}}
}

func TestSuite_CatchesBrokenStores(t *testing.T) {
	for _, b := range brokenStores {
		t.Run(strings.ReplaceAll(b.what, " ", "-"), func(t *testing.T) {
			for _, name := range b.caughtBy {
				said := complaintsOf(t, ruleNamed(t, name), func(testing.TB) memory.Store { return b.store(newSound()) })
				if said == "" {
					t.Errorf("rule: a store that %s is caught by %s\n got: no complaint from it\nwant: one", b.what, name)
				} else if !strings.Contains(said, "rule: ") {
					t.Errorf("rule: a complaint names the rule that was broken\n got: %s: %s", name, said)
				}
			}
		})
	}
}

// TestSuite_EveryRuleCanFail runs every rule on a store of which nothing is right.
func TestSuite_EveryRuleCanFail(t *testing.T) {
	for _, r := range allRules() {
		if complaintsOf(t, r, func(testing.TB) memory.Store { return useless{&watch{now: time.Now()}} }) == "" {
			t.Errorf("rule: every rule can fail\n got: %s is content with a store that does nothing", r.name)
		}
	}
}

func TestSuite_StoreWithoutAClockHasNoRulesOfTime(t *testing.T) {
	plain := func(testing.TB) memory.Store { return &memory.Map{} }
	if c := complaintsOf(t, ruleNamed(t, "TTL"), plain); c != "" {
		t.Errorf("rule: a store that is no Clock is not judged by time\n got: %s", c)
	}
	if testreport.Of(t, func(tb testing.TB) { ruleNamed(t, "TTL").judge(tb, plain, true) }) == "" {
		t.Error("rule: RunFull demands a Clock\n got: silence")
	}
}

// useless keeps nothing and refuses nothing.
type useless struct{ *watch }

func (useless) Put(context.Context, []string, string, json.RawMessage, memory.Options) (memory.Item, error) {
	return memory.Item{Namespace: []string{"?"}, Value: json.RawMessage(`{"?":1}`)}, nil
}

func (u useless) Get(ctx context.Context, ns []string, key string) (memory.Item, error) {
	return u.Put(ctx, ns, key, nil, memory.Options{})
}
func (useless) Delete(context.Context, []string, string) error { return nil }
func (useless) Batch(_ context.Context, _ []string, ops []memory.Op) ([]memory.Item, error) {
	return make([]memory.Item, max(2, len(ops))), nil
}

func (useless) Search(context.Context, memory.Query) (memory.Page, error) {
	return memory.Page{Items: []memory.Found{{Item: memory.Item{Namespace: []string{"?", "?"}, Key: "?", Value: json.RawMessage(`{"?":1}`)}}}}, nil
}

func (useless) Namespaces(context.Context, memory.NamespaceQuery) ([][]string, error) {
	return [][]string{{"?", "?"}}, nil
}

func ruleNamed(t *testing.T, name string) rule {
	t.Helper()
	rules := allRules()
	i := slices.IndexFunc(rules, func(r rule) bool { return r.name == name })
	if i < 0 {
		t.Fatalf("there is no rule %s", name)
	}
	return rules[i]
}

// complaintsOf runs a rule on a store.
func complaintsOf(t *testing.T, r rule, open func(t testing.TB) memory.Store) string {
	t.Helper()
	return testreport.Of(t, func(tb testing.TB) { r.judge(tb, open, false) })
}
