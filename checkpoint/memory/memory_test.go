package memory_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint/memory"
)

// TestNumbers_AreComparedByTheirExactValue compares with fractions of math/big.
func TestNumbers_AreComparedByTheirExactValue(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	digits := func(n int) string {
		b := make([]byte, 1+rnd.IntN(n))
		for i := range b {
			b[i] = "0011239"[rnd.IntN(7)]
		}
		return string(b)
	}
	number := func() string {
		s := strings.TrimLeft(digits(4), "0")
		if s == "" {
			s = "0"
		}
		if rnd.IntN(2) == 0 {
			s = "-" + s
		}
		if rnd.IntN(2) == 0 {
			s += "." + digits(4)
		}
		if rnd.IntN(2) == 0 {
			s += []string{"e", "E-", "e+"}[rnd.IntN(3)] + digits(1)
		}
		return s
	}
	var store memory.Map
	for range 2000 {
		a, b := number(), number()
		x, _ := new(big.Rat).SetString(a)
		y, _ := new(big.Rat).SetString(b)
		put(t, &store, []string{"n"}, "n", `{"n":`+a+`}`)
		for op, want := range map[memory.Operator]bool{
			memory.Eq: x.Cmp(y) == 0, memory.Ne: x.Cmp(y) != 0, memory.Lt: x.Cmp(y) < 0, memory.Lte: x.Cmp(y) <= 0, memory.Gt: x.Cmp(y) > 0, memory.Gte: x.Cmp(y) >= 0,
		} {
			page, err := store.Search(t.Context(), memory.Query{Where: memory.Filter{{Path: "n", Op: op, Value: json.RawMessage(b)}}})
			if err != nil || len(page.Items) == 1 != want {
				t.Fatalf("rule: numbers are compared by their exact value\n got: %s %s %s is %v, %v\nwant: %v", a, op, b, len(page.Items) == 1, err, want)
			}
		}
	}
}

func put(t testing.TB, s memory.Store, ns []string, key, value string) memory.Item {
	t.Helper()
	item, err := s.Put(t.Context(), ns, key, json.RawMessage(value), memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return item
}

func TestMap_RemovesWhatHasExpired(t *testing.T) {
	now := time.Now()
	store := memory.Map{Now: func() time.Time { return now }}
	for i := range 100 {
		o := memory.Options{TTL: time.Duration(1+i%2) * time.Hour}
		if _, err := store.Put(t.Context(), []string{"n"}, fmt.Sprint(i), json.RawMessage(`1`), o); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []int{51, 1} {
		now = now.Add(61 * time.Minute)
		put(t, &store, []string{"n"}, "last", `1`)
		if got := store.Rows(); got != want {
			t.Errorf("rule: what has ended is removed by the next write\n got: %d rows\nwant: %d", got, want)
		}
	}
}

func TestSearch_ByMeaningNeedsAnIndex(t *testing.T) {
	var store memory.Map
	if _, err := store.Search(t.Context(), memory.Query{Near: "x"}); !errors.Is(err, memory.ErrQuery) {
		t.Errorf("rule: Near needs an Index\n got: %v\nwant: ErrQuery", err)
	}
}

// endless is a table with more rows than anybody should look at.
type endless struct{ memory.Table }

func (endless) Scan(_ context.Context, s memory.Scan) (rows []memory.Item, more bool, err error) {
	var n int
	fmt.Sscan(s.After.Key, &n)
	for range s.Limit {
		n++
		rows = append(rows, memory.Item{Namespace: []string{"n"}, Key: fmt.Sprintf("%09d", n), Value: json.RawMessage(`{"n":1}`), Version: 1})
	}
	return rows, true, nil
}

func (endless) Namespaces(_ context.Context, _ memory.Range, after string, limit int) (list []string, more bool, err error) {
	var n int
	fmt.Sscan(after, &n)
	for range limit {
		n++
		list = append(list, fmt.Sprintf("%09d", n))
	}
	return list, true, nil
}

func TestSearch_ReadsAtMostMaxScanItems(t *testing.T) {
	store := memory.Over(endless{})
	nothing := memory.Filter{{Path: "n", Op: memory.Eq, Value: 2}}
	page, err := store.Search(t.Context(), memory.Query{Where: nothing})
	if err != nil || len(page.Items) != 0 || page.Next == "" {
		t.Errorf("rule: a search by key that has read MaxScan items returns a cursor\n got: %d items, next %q, %v", len(page.Items), page.Next, err)
	}
	_, err = store.Search(t.Context(), memory.Query{Where: nothing, Cursor: page.Next})
	if err != nil {
		t.Errorf("rule: the next page goes on\n got: %v", err)
	}
	for _, q := range []memory.Query{{Order: memory.ByUpdated}, {Order: memory.ByRank}, {Text: "word"}} {
		if _, err := store.Search(t.Context(), q); !errors.Is(err, memory.ErrTooMany) {
			t.Errorf("rule: a search that cannot sort without all of it is refused\n got: %v for %+v\nwant: ErrTooMany", err, q)
		}
	}
	if _, err := store.Namespaces(t.Context(), memory.NamespaceQuery{Suffix: []string{"x"}}); !errors.Is(err, memory.ErrTooMany) {
		t.Errorf("rule: a listing that finds nothing ends\n got: %v\nwant: ErrTooMany", err)
	}
}

// again is a table whose first reply to each write is lost, so that it writes twice.
type again struct{ memory.Table }

func (a again) Write(ctx context.Context, w memory.Write) ([]memory.Item, error) {
	if _, err := a.Table.Write(ctx, w); err != nil {
		return nil, err
	}
	return a.Table.Write(ctx, w)
}

func TestWrite_RepeatedIsMadeOnce(t *testing.T) {
	var m memory.Map
	store := memory.Over(again{m.Table()})
	item, err := store.Put(t.Context(), []string{"n"}, "k", json.RawMessage(`1`), memory.Options{If: new(uint64(0))})
	if err != nil || item.Version != 1 {
		t.Errorf("rule: a write that is asked for again is known by its ID\n got: %+v, %v\nwant: version 1", item, err)
	}
}

func FuzzFiltersNeverPanic(f *testing.F) {
	for _, seed := range []string{`{"a":1}`, `{"a.b":{"$gte":1,"$lt":2}}`, `{"a":{"$eq":{"$x":[null]}}}`, `[`, `{"\\":1}`, `{"a":{"$ne":-0.0e-0}}`} {
		f.Add([]byte(seed), []byte(`{"a":{"b":[1,"x",null]}}`))
	}
	f.Fuzz(func(t *testing.T, filter, value []byte) {
		where, err := memory.ParseFilter(filter)
		if err != nil && !errors.Is(err, memory.ErrQuery) {
			t.Fatalf("rule: a bad filter is an ErrQuery\n got: %v", err)
		}
		var store memory.Map
		_, putErr := store.Put(t.Context(), []string{"n"}, "k", value, memory.Options{})
		if err != nil || putErr != nil {
			return
		}
		all := 0
		for _, op := range []memory.Operator{memory.Eq, memory.Ne} {
			for i := range where {
				where[i].Op = op
				page, err := store.Search(t.Context(), memory.Query{Where: where[i : i+1]})
				if err != nil {
					t.Fatalf("rule: a filter that was read can be used\n got: %v", err)
				}
				all += len(page.Items)
			}
		}
		if all != len(where) {
			t.Errorf("rule: $eq and $ne are opposites\n got: %d for %d conditions", all, len(where))
		}
	})
}

func TestCache_IsSharedByAllUsersOfTheStore(t *testing.T) {
	now := time.Now()
	var store = &memory.Map{Now: func() time.Time { return now }}
	mine, yours := memory.Cache{Store: store}, memory.Cache{Store: store}
	keys := []string{"g/n/1", "g/n/2", "g/no/1", "g/", "g//", "g", "", "h/n/1", "g/n/1/x", "%/*/'"}
	for i, key := range keys {
		must(t, mine.Put(t.Context(), key, []byte{0xff, byte(i)}, 0))
	}
	for i, key := range keys {
		data, ok, err := yours.Get(t.Context(), key)
		if err != nil || !ok || !slices.Equal(data, []byte{0xff, byte(i)}) {
			t.Errorf("rule: what one put another gets\n got: %q is %q, %v, %v", key, data, ok, err)
		}
	}
	must(t, mine.Put(t.Context(), "empty", nil, 0))
	if data, ok, err := yours.Get(t.Context(), "empty"); len(data) != 0 || !ok || err != nil {
		t.Errorf("rule: empty data can be stored\n got: %q, %v, %v", data, ok, err)
	}
	must(t, mine.Put(t.Context(), "brief", []byte("x"), time.Minute))
	must(t, mine.Put(t.Context(), "briefest", []byte("x"), 1))
	now = now.Add(2 * time.Minute)
	for _, key := range []string{"brief", "briefest", "unknown", "g/n/3"} {
		if _, ok, err := yours.Get(t.Context(), key); ok || err != nil {
			t.Errorf("rule: what is not there, or no longer, is no error\n got: %q is %v, %v", key, ok, err)
		}
	}
	for _, clear := range []struct {
		prefix string
		gone   []string
	}{
		{"g/n/", []string{"g/n/1", "g/n/2", "g/n/1/x"}},
		{"g/n", []string{"g/no/1"}},
		{"x", nil},
		{"", keys},
	} {
		must(t, yours.Clear(t.Context(), clear.prefix))
		for _, key := range clear.gone {
			if _, ok, err := mine.Get(t.Context(), key); ok || err != nil {
				t.Errorf("rule: Clear drops what begins with %q\n got: %q is %v, %v", clear.prefix, key, ok, err)
			}
		}
		if _, ok, _ := mine.Get(t.Context(), "h/n/1"); ok == (clear.prefix == "") {
			t.Errorf("rule: Clear of %q leaves the others\n got: h/n/1 is %v", clear.prefix, ok)
		}
	}
	if err := mine.Put(t.Context(), "big", make([]byte, memory.MaxValue), 0); !errors.Is(err, memory.ErrTooLarge) {
		t.Errorf("rule: what is too large is an error\n got: %v\nwant: ErrTooLarge", err)
	}
	put(t, store, []string{"cache"}, "=odd", `{"no":"bytes"}`)
	if _, ok, err := mine.Get(t.Context(), "odd"); ok || err == nil {
		t.Errorf("rule: what is not bytes is an error\n got: %v, %v", ok, err)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
