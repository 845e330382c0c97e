package memorytest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint/memory"
	"github.com/weftrun/weft/internal/testreport"
)

// Letters is the length of the vectors in the tests of an Index.
const Letters = 26

// OpenIndex returns what an Index stores its items in, and the index of vectors of Letters numbers,
// nil for none. Both are empty. The suite sets the rest.
type OpenIndex func(t testing.TB) (memory.Store, memory.Vectors)

// RunIndex judges an Index with the vectors of a database, or without. The same searches must have
// the same results. Each sub-test calls open.
func RunIndex(t *testing.T, open OpenIndex) {
	for _, r := range indexRules {
		t.Run(r.name, func(t *testing.T) { r.judge(t, open) })
	}
}

// indexRule is a group of demands on an Index.
type indexRule struct {
	name   string
	fields []string
	check  func(p *indexProbe)
}

var indexRules = []indexRule{
	{name: "MostSimilarFirst", check: mostSimilarFirst},
	{name: "ConditionsAndWords", check: conditionsAndWords},
	{name: "LastValueCounts", check: lastValueCounts},
	{name: "EqualScores", check: equalScores},
	{name: "BestFieldCounts", fields: []string{"title", "body.text"}, check: bestFieldCounts},
	{name: "FailuresOfTheEmbedder", check: failuresOfTheEmbedder},
	{name: "ReindexAddsWhatIsMissing", check: reindexAdds},
	{name: "VectorsEndWithTheirItems", check: vectorsEnd},
	{name: "LateVectors", check: lateVectors},
	{name: "DeletionBesidePut", check: deletionBesidePut},
	{name: "NothingBeyondThePrefix", check: nothingBeyond},
	{name: "LikeComparingAll", check: likeComparingAll},
	{name: "ManyWritersAtOnce", check: manyWriters},
}

func (r indexRule) judge(t testing.TB, open OpenIndex) {
	store, vectors := open(t)
	p := &indexProbe{probe: &probe{Probe: testreport.Probe{TB: t}}, letters: &letters{}}
	p.index = &memory.Index{Store: store, Vectors: vectors, Embed: p.letters.embed, Dims: Letters, Fields: r.fields}
	p.index.Failed = func(ns []string, key string, err error) { p.failed = append(p.failed, fmt.Sprint(ns, key, " ", err)) }
	p.store = p.index
	r.check(p)
}

// indexProbe asks an Index.
type indexProbe struct {
	*probe
	index   *memory.Index
	letters *letters
	failed  []string
}

// letters is an embedder that counts letters: texts with the same letters are alike.
type letters struct {
	mu    sync.Mutex
	calls int
	fails error
	turn  func([][]float32) [][]float32
	held  chan struct{} // a call waits for it
	began chan struct{} // and reports here
}

func (e *letters) embed(_ context.Context, texts []string) ([][]float32, error) {
	if e.held != nil {
		e.began <- struct{}{}
		<-e.held
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.calls++
	if e.fails != nil {
		return nil, e.fails
	}
	var list [][]float32
	for _, text := range texts {
		v := make([]float32, Letters)
		for _, r := range strings.ToLower(text) {
			if r >= 'a' && r <= 'z' {
				v[r-'a']++
			}
		}
		list = append(list, v)
	}
	if e.turn != nil {
		list = e.turn(list)
	}
	return list, nil
}

// unindexed demands how many items lack a vector. A database need not count them.
func (p *indexProbe) unindexed(want int) {
	p.Helper()
	got := p.page(memory.Query{Near: "abc"}).Unindexed
	if got != want && (got != -1 || p.index.Vectors == nil) {
		p.Errorf("rule: a search counts the items that lack a vector, or reports -1\n got: %d\nwant: %d", got, want)
	}
}

func (p *indexProbe) texts(ns []string, kv ...string) {
	p.Helper()
	for i := 0; i < len(kv); i += 2 {
		p.put(ns, kv[i], fmt.Sprintf(`{"t":%q}`, kv[i+1]))
	}
}

func mostSimilarFirst(p *indexProbe) {
	p.texts([]string{"a"}, "tea", "tea eat ate", "coat", "coat taco", "dog", "god dog", "blank", " ", "number", "1")
	p.put([]string{"a", "b"}, "team", `{"t":"meat team","kind":"other"}`)
	p.put([]string{"b"}, "east", `"east"`)
	p.Same("the most similar come first, and a text without a direction is not found", p.keys(memory.Query{Near: "EAT", Prefix: []string{"a"}}), "tea team coat dog")
	p.Same("a prefix may be empty", p.keys(memory.Query{Near: "eat"}), "tea east team coat dog")
	for limit := 1; limit < 7; limit++ {
		p.Same(fmt.Sprintf("pages of %d are the whole", limit), p.keys(memory.Query{Near: "eat", Limit: limit}), "tea east team coat dog")
	}
	p.unindexed(0)
	list := p.search(memory.Query{Near: "tea"})
	want := map[string]float64{"tea": 1, "east": math.Sqrt(3) / 2, "dog": 0}
	for _, f := range list {
		if w, ok := want[f.Key]; ok && math.Abs(f.Score-w) > 1e-6 {
			p.Errorf("rule: the score is the cosine\n got: %v for %s\nwant: %v", f.Score, f.Key, w)
		}
	}
	p.Same("a search without a direction finds nothing", p.keys(memory.Query{Near: "1"}), "")
	p.Same("no put has failed", p.failed, []string(nil))
}

func conditionsAndWords(p *indexProbe) {
	for i := range 40 {
		p.put([]string{"a"}, fmt.Sprintf("%02d", i), fmt.Sprintf(`{"t":"%s","n":%d,"even":%v}`, strings.Repeat("a", i+1)+"b", i, i%2 == 0))
	}
	p.put([]string{"a"}, "taco", `{"t":"taco","n":99}`)
	q := memory.Query{Near: "a", Where: memory.Filter{{Path: "even", Op: memory.Eq, Value: true}, {Path: "n", Op: memory.Lt, Value: 7}}}
	p.Same("conditions hold beside the meaning", p.keys(q), "06 04 02 00")
	q.Limit = 1
	p.Same("pages of few matches are the whole", p.keys(q), "06 04 02 00")
	p.Same("words hold beside the meaning", p.keys(memory.Query{Near: "a", Text: "TACO"}), "taco")
	p.Same("nothing is found without the words", p.keys(memory.Query{Near: "a", Text: "absent"}), "")
	page := p.page(memory.Query{Near: "a", Limit: 2})
	_, err := p.store.Search(p.Context(), memory.Query{Near: "b", Limit: 2, Cursor: page.Next})
	p.Fails("a cursor of another text is an error", err, memory.ErrCursor)
	_, err = p.store.Search(p.Context(), memory.Query{Near: "a", Order: memory.ByKey})
	p.Fails("a search by meaning has the order of rank", err, memory.ErrQuery)
}

func lastValueCounts(p *indexProbe) {
	ns := []string{"a"}
	p.texts(ns, "tea", "tea", "dog", "dog", "coat", "coat")
	p.delete(ns, "tea")
	p.texts(ns, "dog", "eat eat")
	p.Same("the last value counts", p.keys(memory.Query{Near: "eat"}), "dog coat")
	p.put(ns, "dog", `{"n":1}`)
	p.Same("a value without text is not found", p.keys(memory.Query{Near: "eat"}), "coat")
	p.texts(ns, "tea", "tea")
	p.Same("a key may be used again", p.keys(memory.Query{Near: "eat"}), "tea coat")
	before := p.letters.calls
	_, err := p.store.Batch(p.Context(), []string{"c"}, []memory.Op{{Key: "1", Value: json.RawMessage(`"x"`)}, {Key: "2", Value: json.RawMessage(`"y"`)}, {Key: "3"}})
	p.Done("a batch is made", err)
	p.Same("a batch is one call of the embedder", p.letters.calls-before, 1)
}

func equalScores(p *indexProbe) {
	for _, key := range []string{"c", "a", "e", "b", "d"} {
		p.texts([]string{"x"}, key, "tea")
	}
	p.texts([]string{"w"}, "z", "tea")
	want := "z d b e a c"
	p.Same("the newest of equal ones comes first", p.keys(memory.Query{Near: "tea"}), want)
	for limit := 1; limit < 7; limit++ {
		p.Same(fmt.Sprintf("pages of %d are the whole", limit), p.keys(memory.Query{Near: "tea", Limit: limit}), want)
	}
	_, err := p.store.Batch(p.Context(), []string{"y"}, []memory.Op{{Key: "3", Value: json.RawMessage(`"tea"`)}, {Key: "1", Value: json.RawMessage(`"tea"`)}, {Key: "2", Value: json.RawMessage(`"tea"`)}})
	p.Done("a batch is made", err)
	p.Same("of one time they are sorted by key", p.keys(memory.Query{Near: "tea", Prefix: []string{"y"}}), "1 2 3")
}

func bestFieldCounts(p *indexProbe) {
	p.put([]string{"a"}, "one", `{"title":"zzz","body":{"text":["abc","abc"]},"other":"q"}`)
	p.put([]string{"a"}, "two", `{"title":"abcz"}`)
	p.put([]string{"a"}, "none", `{"other":"abc"}`)
	for limit := 1; limit < 4; limit++ {
		p.Same("the most similar field of an item counts, and an item comes once", p.keys(memory.Query{Near: "abc", Limit: limit}), "one two")
	}
	p.unindexed(0)
	p.put([]string{"a"}, "one", `{"title":"zzz"}`)
	p.Same("fields that are gone count no more", p.keys(memory.Query{Near: "abc"}), "two one")
}

func failuresOfTheEmbedder(p *indexProbe) {
	down := errors.New("the model is down")
	ns := []string{"a"}
	for i, breakIt := range []func(e *letters){
		func(e *letters) { e.fails = down },
		func(e *letters) { e.turn = func([][]float32) [][]float32 { panic("oh") } },
		func(e *letters) { e.turn = func(v [][]float32) [][]float32 { return v[1:] } },
		func(e *letters) { e.turn = func(v [][]float32) [][]float32 { v[0] = v[0][1:]; return v } },
		func(e *letters) {
			e.turn = func(v [][]float32) [][]float32 { v[0][0] = float32(math.Inf(1)); return v }
		},
	} {
		old, fresh := fmt.Sprint("old", i), fmt.Sprint("new", i)
		p.put(ns, old, `"abc"`)
		p.failed = nil
		breakIt(p.letters)
		p.put(ns, fresh, `"abc"`)
		p.put(ns, old, `"xyz"`)
		p.Same("Failed is called for each item without a vector", len(p.failed), 2)
		p.Same("the item is stored", string(p.get(ns, fresh).Value), `"abc"`)
		if _, err := p.store.Search(p.Context(), memory.Query{Near: "abc"}); err == nil {
			p.Error("rule: a search that cannot be embedded is an error\n got: none")
		}
		if n, err := p.index.Reindex(p.Context(), nil); err == nil || n != 0 {
			p.Errorf("rule: Reindex returns the error that stopped it\n got: %d, %v", n, err)
		}
		p.letters.fails, p.letters.turn = nil, nil
		p.Same("items without a vector of their own are left out", p.keys(memory.Query{Near: "abc"}), "")
		p.unindexed(2)
		n, err := p.index.Reindex(p.Context(), nil)
		p.Same("Reindex adds the missing vectors", fmt.Sprint(n, err), "2 <nil>")
		p.Same("then they are found", p.keys(memory.Query{Near: "abc"}), fresh+" "+old)
		p.delete(ns, old)
		p.delete(ns, fresh)
	}
}

func reindexAdds(p *indexProbe) {
	for i := range 150 {
		_, err := p.index.Store.Put(p.Context(), []string{"a", fmt.Sprint(i % 3)}, fmt.Sprint(i), json.RawMessage(fmt.Sprintf(`"abc %d"`, i)), memory.Options{})
		p.Done("an item is put without the Index", err)
	}
	p.put([]string{"a", "0"}, "gone", `"abc"`)
	p.Done("an item is deleted without the Index", p.index.Store.Delete(p.Context(), []string{"a", "0"}, "gone"))
	p.Same("an item that was put without the Index is not found", p.keys(memory.Query{Near: "abc"}), "")
	for _, want := range []int{150, 0} {
		n, err := p.index.Reindex(p.Context(), []string{"a"})
		p.Same("Reindex makes what is missing, once", fmt.Sprint(n, err), fmt.Sprint(want, " <nil>"))
	}
	p.Same("all are found", len(p.search(memory.Query{Near: "abc"})), 150)
	p.put([]string{"a", "0"}, "gone", `"xyz"`)
	list := p.search(memory.Query{Near: "xyz", Limit: 1000})
	p.Same("a vector of a deleted item is not that of a new one", list[0].Key, "gone")
}

func vectorsEnd(p *indexProbe) {
	clock, ok := p.index.Store.(Clock)
	if !ok {
		p.Log("not offered: memorytest.Clock")
		return
	}
	ns := []string{"a"}
	p.put(ns, "brief", `"abc"`, memory.Options{TTL: time.Hour})
	p.put(ns, "renewed", `"abc"`, memory.Options{TTL: time.Hour, Refresh: true})
	clock.Advance(45 * time.Minute)
	p.get(ns, "renewed")
	clock.Advance(45 * time.Minute)
	p.Same("an item that lives on by reading keeps its vector, and an expired one is not found", p.keys(memory.Query{Near: "abc"}), "renewed")
	p.put(ns, "brief", `"abc"`)
	p.Same("the key may be used again", p.keys(memory.Query{Near: "abc"}), "brief renewed")
}

func nothingBeyond(p *indexProbe) {
	p.texts([]string{"a"}, "1", "tea")
	p.texts([]string{"a", "b"}, "2", "tea")
	p.texts([]string{"a\x01"}, "3", "tea")
	p.texts([]string{"ab"}, "4", "tea")
	p.texts([]string{"日本", "x"}, "5", "tea")
	for prefix, want := range map[string]string{"a": "2 1", "a/b": "2", "ab": "4", "日本": "5", "none": ""} {
		p.Same("a prefix selects whole labels: "+prefix, p.keys(memory.Query{Near: "tea", Prefix: strings.Split(prefix, "/")}), want)
	}
	p.Same("vectors are no namespaces", p.namespaces(memory.NamespaceQuery{}), `[["a"] ["a" "b"] ["a\x01"] ["ab"] ["日本" "x"]]`)
	p.Same("vectors are no items", p.keys(memory.Query{}), "1 2 3 4 5")
}

// likeComparingAll compares searches among random texts with those of an Index over a Map.
func likeComparingAll(p *indexProbe) {
	rnd := rand.New(rand.NewPCG(3, 4))
	reference := &memory.Index{Store: &memory.Map{}, Embed: p.letters.embed, Dims: Letters}
	word := func() string {
		b := make([]byte, 3+rnd.IntN(8))
		for i := range b {
			b[i] = byte('a' + rnd.IntN(Letters))
		}
		return string(b)
	}
	for range 3 {
		var ops []memory.Op
		for i := range 100 {
			ops = append(ops, memory.Op{Key: fmt.Sprint(i), Value: json.RawMessage(fmt.Sprintf(`{"t":%q,"n":%d}`, word()+" "+word(), rnd.IntN(3)))})
		}
		ns := []string{"u", word()}
		for _, x := range []*memory.Index{p.index, reference} {
			_, err := x.Batch(p.Context(), ns, ops)
			p.Done("a batch is made", err)
		}
	}
	searches := 20
	if testing.Short() {
		searches = 5
	}
	for range searches {
		q := memory.Query{Near: word(), Limit: 1 + rnd.IntN(40)}
		if rnd.IntN(2) == 0 {
			q.Where = memory.Filter{{Path: "n", Op: memory.Eq, Value: rnd.IntN(3)}}
		}
		want := (&probe{p.Probe, reference}).search(q)
		got := p.search(q)
		p.Same(fmt.Sprintf("every index returns the same items: %+v", q), len(got), len(want))
		for i := range min(len(got), len(want)) {
			if math.Abs(got[i].Score-want[i].Score) > 1e-6 {
				p.Errorf("rule: every index returns the same order: %+v\n got: %v at %d\nwant: %v", q, got[i].Score, i, want[i].Score)
				break
			}
		}
		sorted := slices.IsSortedFunc(got, func(a, b memory.Found) int { return compare(b.Score, a.Score) })
		p.Same("the scores descend over all pages", sorted, true)
	}
}

func compare(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
