package state

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// grown is a tree and the plain map that it must equal.
type grown struct {
	t *tree[int, int]
	m map[int]int
}

func TestTree_IsAMapWithAHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := []grown{{nil, map[int]int{}}}
		for i := range rapid.IntRange(1, 60).Draw(t, "ops") {
			from := rapid.SampledFrom(all).Draw(t, "from")
			to := grown{from.t, maps.Clone(from.m)}
			k := rapid.IntRange(0, 20).Draw(t, "key")
			if rapid.IntRange(0, 2).Draw(t, "op") == 0 {
				to.t = to.t.del(k)
				delete(to.m, k)
			} else {
				to.t = to.t.put(&entry[int, int]{k, i})
				to.m[k] = i
			}
			all = append(all, to)
		}
		for _, g := range all {
			sound(t, g)
		}
		differ(t, rapid.SampledFrom(all).Draw(t, "a"), rapid.SampledFrom(all).Draw(t, "b"))
	})
}

// sound checks g's content, and that its shape is the one that its keys have.
func sound(t *rapid.T, g grown) {
	if got := g.t.toMap(); !maps.Equal(got, g.m) || g.t.len() != len(g.m) {
		t.Fatalf("got %v of length %d, want %v", got, g.t.len(), g.m)
	}
	if keys := g.t.toKeys(); !slices.IsSorted(keys) {
		t.Fatalf("keys out of order: %v", keys)
	}
	if got, want := outline(g.t), outline(treeOfMap(g.m)); got != want {
		t.Fatalf("the shape depends on the history: %s and %s", got, want)
	}
}

func outline(t *tree[int, int]) string {
	if t == nil {
		return "."
	}
	return fmt.Sprintf("(%s %d:%d %s)", outline(t.left), t.k, t.n, outline(t.right))
}

func differ(t *rapid.T, a, b grown) {
	got := maps.Clone(a.m)
	changes := 0
	diff(a.t, b.t,
		func(e *entry[int, int]) { got[e.k] = e.v; changes++ },
		func(e *entry[int, int]) { delete(got, e.k); changes++ })
	want := 0
	for k := range 21 {
		va, ina := a.m[k]
		vb, inb := b.m[k]
		if ina != inb || va != vb {
			want++
		}
	}
	if !maps.Equal(got, b.m) || changes != want {
		t.Fatalf("from %v by %d changes to %v, want %v by %d", a.m, changes, got, b.m, want)
	}
}

func TestDiff_SkipsWhatIsShared(t *testing.T) {
	keys := make([]int, 100_000)
	for i := range keys {
		keys[i] = i
	}
	a := treeOf(keys, func(k int) int { return k })
	b := a.put(&entry[int, int]{500, -1}).del(70_000)
	n := 0
	count := func(*entry[int, int]) { n++ }
	allocs := testing.AllocsPerRun(1, func() { diff(a, b, count, count) })
	if n != 2*2 || allocs > 400 { // AllocsPerRun runs it twice
		t.Errorf("got %d changes and %v allocations, want 4 and about the depth of the tree", n, allocs)
	}
}

func TestVec_CopiesOnlyForForks(t *testing.T) {
	base := vecOf([]int{1, 2})
	a := base.append([]int{3})
	b := base.append([]int{4})
	c := a.append([]int{5})
	for _, v := range []struct {
		vec  vec[int]
		want []int
	}{{base, []int{1, 2}}, {a, []int{1, 2, 3}}, {b, []int{1, 2, 4}}, {c, []int{1, 2, 3, 5}}} {
		if !slices.Equal(v.vec.s, v.want) {
			t.Errorf("got %v, want %v", v.vec.s, v.want)
		}
	}
	if added, ok := c.since(base); !ok || !slices.Equal(added, []int{3, 5}) {
		t.Errorf("c grew out of base: got %v, %t", added, ok)
	}
	if _, ok := b.since(base); ok {
		t.Error("b is a fork: it has a history of its own")
	}
	if _, ok := base.since(a); ok {
		t.Error("base did not grow out of a")
	}
}
