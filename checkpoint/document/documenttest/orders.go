package documenttest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weftrun/weft/checkpoint/document"
)

var orderRules = []rule{
	{"Order", func(p *probe) {
		for _, d := range []struct{ id, order string }{{"e", "2"}, {"d", "1"}, {"c", "2"}, {"b", ""}, {"a", "10"}, {"f", "2"}} {
			p.set(home, d.id, `1`, d.order)
		}
		p.Same("documents are sorted by the bytes of Order, and then as they were added", p.ids(document.Query{Place: home}), "b d a e c f")
		p.Same("Reverse reverses the order", p.ids(document.Query{Place: home, Reverse: true}), "f c e a d b")
		p.Same("Reverse with a Limit returns the last documents", p.ids(document.Query{Place: home, Reverse: true, Limit: new(2)}), "f c")
		before := p.get(home, "e")
		after := p.set(home, "e", `2`, "2")
		p.Same("a document that is set again has the same Seq", after.Seq, before.Seq)
		p.Same("a document that is set again has the same position", p.ids(document.Query{Place: home}), "b d a e c f")
		p.set(home, "e", `2`, "0")
		p.Same("a new Order moves a document", p.ids(document.Query{Place: home}), "b e d a c f")
		p.set(home, "e", `2`, "2")
		p.Same("the former Order moves it back", p.ids(document.Query{Place: home}), "b d a e c f")
		p.delete(home, "e")
		p.set(home, "e", `2`, "2")
		p.Same("a document that was deleted and set again comes last among equal Orders", p.ids(document.Query{Place: home}), "b d a c f e")
	}},
	{"BatchOrder", func(p *probe) {
		var changes []document.Change
		want := []string{}
		for i := range 300 {
			id := fmt.Sprint((i * 7919) % 300)
			changes = append(changes, document.Change{ID: id, Value: json.RawMessage(`1`), Order: "same"})
			want = append(want, id)
		}
		docs := p.batch(home, changes...)
		p.Same("documents of a batch with equal Orders have the order of the changes", p.ids(document.Query{Place: home}), strings.Join(want, " "))
		p.Same("Batch returns documents in the order of the changes", idsOf(docs), strings.Join(want, " "))
		slices.Reverse(changes)
		p.batch(home, changes...)
		p.Same("a second batch does not change that order", p.ids(document.Query{Place: home}), strings.Join(want, " "))
	}},
	{"Ranges", func(p *probe) {
		for _, order := range []string{"", "a", "a\x01", "aa", "ab", "b", "é", "\U0010ffff"} {
			p.set(home, "id-"+order, `1`, order)
		}
		for _, c := range []struct{ from, until, want string }{
			{"", "", "id- id-a id-a\x01 id-aa id-ab id-b id-é id-\U0010ffff"},
			{"a", "", "id-a id-a\x01 id-aa id-ab id-b id-é id-\U0010ffff"},
			{"", "a", "id-"},
			{"a", "b", "id-a id-a\x01 id-aa id-ab"},
			{"a\x01", "ab", "id-a\x01 id-aa"},
			{"ac", "é", "id-b"},
			{"b", "b", ""},
			{"b", "a", ""},
			{"\U0010ffff", "", "id-\U0010ffff"},
		} {
			p.Same(fmt.Sprintf("a range includes From and not Until: from %q until %q", c.from, c.until),
				p.ids(document.Query{Place: home, From: c.from, Until: c.until}), c.want)
			back := strings.Fields(c.want)
			slices.Reverse(back)
			p.Same(fmt.Sprintf("Reverse returns the same range: from %q until %q", c.from, c.until),
				p.ids(document.Query{Place: home, From: c.from, Until: c.until, Reverse: true}), strings.Join(back, " "))
		}
	}},
	{"Counts", func(p *probe) {
		for i, order := range []string{"", "a", "a", "aa", "b"} {
			p.set(home, fmt.Sprint(i), fmt.Sprintf(`{"odd": %v}`, i%2 == 1), order)
		}
		p.set(document.At(home.Collection, "elsewhere"), "x", `{"odd": true}`, "a")
		p.set(document.At(home.Collection+"2", home.Partition), "x", `{"odd": true}`, "a")
		odd := document.Filter{{Path: "odd", Value: true}}
		collection := document.At(home.Collection, "")
		for _, c := range []struct {
			q    document.Query
			want int
		}{
			{document.Query{Place: home}, 5},
			{document.Query{Place: collection}, 6},
			{document.Query{Place: home, From: "a"}, 4},
			{document.Query{Place: home, From: "a", Until: "b"}, 3},
			{document.Query{Place: collection, From: "a", Until: "b"}, 4},
			{document.Query{Place: home, From: "b", Until: "a"}, 0},
			{document.Query{Place: home, Where: odd}, 2},
			{document.Query{Place: collection, Where: odd, From: "a"}, 3},
			{document.Query{Place: home, Skip: 2, Limit: new(1), Reverse: true, Sort: []document.Sort{{Path: "odd"}}}, 5},
			{document.Query{Place: document.At("nowhere", "p")}, 0},
			{document.Query{Place: document.At("nowhere", "")}, 0},
		} {
			n, err := p.store.Count(p.Context(), c.q)
			p.Same(fmt.Sprintf("the count of %+v", c.q), fmt.Sprint(n, err), fmt.Sprint(c.want, nil))
		}
		p.delete(home, "1")
		n, err := p.store.Count(p.Context(), document.Query{Place: home, From: "a", Until: "aa"})
		p.Same("a deleted document is not counted", fmt.Sprint(n, err), "1 <nil>")
		_, err = p.store.Count(p.Context(), document.Query{Place: home, After: &document.Position{Order: "a"}})
		p.Fails("Count with After fails with ErrQuery", err, document.ErrQuery)
	}},
	{"After", func(p *probe) {
		for i, order := range []string{"a", "b", "b", "b", "c", "d"} {
			p.set(home, fmt.Sprint(i), `1`, order)
		}
		allPages := func(q document.Query) string {
			var got []document.Doc
			for range 20 { // more than there are
				docs := p.query(q)
				if len(docs) == 0 {
					break
				}
				got = append(got, docs...)
				at := docs[len(docs)-1].Position()
				q.After = &at
			}
			return idsOf(got)
		}
		for limit := 1; limit <= 7; limit++ {
			p.Same(fmt.Sprintf("pages of %d, each after the one before, have all documents", limit), allPages(document.Query{Place: home, Limit: &limit}), "0 1 2 3 4 5")
			p.Same(fmt.Sprintf("pages of %d backwards", limit), allPages(document.Query{Place: home, Limit: &limit, Reverse: true}), "5 4 3 2 1 0")
			p.Same(fmt.Sprintf("pages of %d of a range", limit), allPages(document.Query{Place: home, Limit: &limit, From: "b", Until: "d"}), "1 2 3 4")
		}
		second, last := p.get(home, "2"), p.get(home, "5")
		for _, c := range []struct {
			after       document.Doc
			from, until string
			want, back  string
		}{
			{second, "", "", "3 4 5", "1 0"},
			{second, "c", "", "4 5", ""},
			{last, "", "c", "", "3 2 1 0"},
			{p.get(home, "0"), "b", "c", "1 2 3", ""},
		} {
			at := c.after.Position()
			what := fmt.Sprintf("after %s, from %q until %q", c.after.ID, c.from, c.until)
			p.Same(what, p.ids(document.Query{Place: home, After: &at, From: c.from, Until: c.until}), c.want)
			at.Partition = ""
			p.Same(what+", backwards", p.ids(document.Query{Place: home, After: &at, From: c.from, Until: c.until, Reverse: true}), c.back)
		}
		at := second.Position()
		p.delete(home, "2")
		p.Same("After accepts the position of a deleted document", p.ids(document.Query{Place: home, After: &at}), "3 4 5")
		for _, q := range []document.Query{
			{Place: home, After: &at, Sort: []document.Sort{{Path: "x"}}}, {Place: document.At(home.Collection, "elsewhere"), After: &at},
			{Place: document.At(home.Collection, ""), After: &document.Position{}}, {Place: home, After: &document.Position{Order: "\x00"}},
		} {
			_, err := p.store.Query(p.Context(), q)
			p.Fails(fmt.Sprintf("Query fails with ErrQuery for %+v", q), err, document.ErrQuery)
		}
	}},
	{"Times", func(p *probe) {
		now := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
		times := []time.Time{{}, time.Unix(0, 0).Add(-time.Nanosecond), time.Unix(0, 0), now, now.Add(time.Nanosecond), now.Add(time.Second), now.AddDate(5000, 0, 0)}
		for i := len(times) - 1; i >= 0; i-- {
			p.set(home, fmt.Sprint(i), `1`, document.AtTime(times[i]))
		}
		p.Same("AtTime sorts by time", p.ids(document.Query{Place: home}), "0 1 2 3 4 5 6")
		p.Same("AtTime works in From and Until", p.ids(document.Query{Place: home, From: document.AtTime(now), Until: document.AtTime(now.Add(time.Second))}), "3 4")
	}},
	{"Pages", func(p *probe) {
		const n = 1234
		var want, back []string
		for i := 0; i < n; i += 617 {
			var changes []document.Change
			for j := range 617 {
				id := fmt.Sprintf("m%05d", i+j)
				want = append(want, id)
				changes = append(changes, document.Change{ID: id, Value: fmt.Appendf(nil, `{"n": %d, "third": %v}`, i+j, (i+j)%3 == 0), Order: fmt.Sprint((i + j) / 1000)})
			}
			p.batch(home, changes...)
		}
		back = slices.Clone(want)
		slices.Reverse(back)
		p.Same("a large partition is returned once and in order", p.ids(document.Query{Place: home}), strings.Join(want, " "))
		p.Same("a large partition is returned in reverse order", p.ids(document.Query{Place: home, Reverse: true}), strings.Join(back, " "))
		p.Same("Reverse with a Limit returns the last documents of a large partition", p.ids(document.Query{Place: home, Reverse: true, Limit: new(3)}), strings.Join(back[:3], " "))
		p.Same("Skip goes beyond one page of the store", p.ids(document.Query{Place: home, Skip: 1000, Limit: new(5)}), strings.Join(want[1000:1005], " "))
		third := document.Filter{{Path: "third", Value: true}}
		p.Same("a filter goes on until Limit is reached", p.ids(document.Query{Place: home, Where: third, Skip: 400, Limit: new(2)}), "m01200 m01203")
		rare := document.Filter{{Path: "n", Value: 7}}
		p.Same("a filter finds a single document far away", p.ids(document.Query{Place: home, Where: rare, Reverse: true, Limit: new(2)}), "m00007")
		byN := []document.Sort{{Path: "n", Desc: true}}
		p.Same("Sort considers all documents", p.ids(document.Query{Place: home, Sort: byN, Skip: 2, Limit: new(3)}), strings.Join(back[2:5], " "))
		equal := []document.Sort{{Path: "third"}}
		p.Same("documents with equal sort keys stay in order", p.ids(document.Query{Place: home, Sort: equal, Limit: new(4)}), "m00001 m00002 m00004 m00005")
	}},
	{"LargeDocuments", func(p *probe) {
		text := `"` + strings.Repeat("x", 3<<20) + `"`
		for i := range 5 {
			p.set(home, fmt.Sprint(i), text)
		}
		p.Same("a query for many large documents returns all of them", p.ids(document.Query{Place: home}), "0 1 2 3 4")
		p.Same("a query for many large documents works in reverse", p.ids(document.Query{Place: document.At(home.Collection, ""), Reverse: true}), "4 3 2 1 0")
	}},
	{"Collections", func(p *probe) {
		var want []string
		for i := range 40 {
			partition := fmt.Sprintf("p%02d", i)
			for j := range 3 {
				id := fmt.Sprintf("%s-%d", partition, 2-j)
				want = append(want, fmt.Sprintf("%s-%d", partition, j))
				p.set(document.At("tasks", partition), id, fmt.Sprintf(`{"i": %d}`, i), fmt.Sprint(2-j))
			}
		}
		p.set(document.At("task", "p00"), "other", `1`)
		p.set(document.At("tasks2", "p00"), "other", `1`)
		all := document.At("tasks", "")
		p.Same("a collection has one partition after the other, each in order", p.ids(document.Query{Place: all}), strings.Join(want, " "))
		p.Same("From and Until apply to each partition", p.ids(document.Query{Place: all, From: "1", Until: "2", Limit: new(3)}), "p00-1 p01-1 p02-1")
		p.Same("a collection is filtered", p.ids(document.Query{Place: all, Where: document.Filter{{Path: "i", Value: 33}}}), "p33-0 p33-1 p33-2")
		p.Same("a collection is sorted", p.ids(document.Query{Place: all, Sort: []document.Sort{{Path: "i", Desc: true}}, Limit: new(4)}), "p39-0 p39-1 p39-2 p38-0")
		for i := 0; i < 40; i += 2 {
			p.Done("a partition can be cleared", p.store.Clear(p.Context(), document.At("tasks", fmt.Sprintf("p%02d", i))))
		}
		p.Same("cleared partitions have no documents", len(p.query(document.Query{Place: all})), 60)
		slices.Reverse(want)
		p.Same("a collection backwards", p.ids(document.Query{Place: all, Reverse: true, Limit: new(4)}), "p39-2 p39-1 p39-0 p37-2")
	}},
}
