package picture

import (
	"cmp"
	"math"
	"slices"
)

// place chooses the columns and the heights of all vertices.
func (r *rows) place() {
	r.conflicts()
	r.minors()
	var all [4][]int
	narrowest, width := 0, math.MaxInt
	for i := range all {
		all[i] = r.columns(i&1 != 0, i&2 != 0)
		if lo, hi := r.extent(all[i]); hi-lo < width {
			narrowest, width = i, hi-lo
		}
	}
	lo, hi := r.extent(all[narrowest])
	for i := range all {
		from, to := r.extent(all[i])
		shift := lo - from
		if i&2 != 0 {
			shift = hi - to
		}
		for v := range all[i] {
			all[i][v] += shift
		}
	}
	for v := range r.verts {
		four := [4]int{all[0][v], all[1][v], all[2][v], all[3][v]}
		slices.Sort(four[:])
		r.verts[v].x = (four[1] + four[2]) >> 1
	}
	for range 2 {
		for _, way := range r.ways {
			r.tighten(way)
		}
	}
	r.heights()
}

// tighten moves the bends of an arc between the columns of its ends, as far as there is room.
// Bends in one column stay in one column.
func (r *rows) tighten(way []int) {
	for from := 1; from < len(way)-1; {
		to := from + 1
		for to < len(way)-1 && r.verts[way[to]].x == r.verts[way[from]].x {
			to++
		}
		x := r.verts[way[from]].x
		a, b := r.verts[way[from-1]].x, r.verts[way[to]].x
		lo, hi := math.MinInt, math.MaxInt
		for _, v := range way[from:to] {
			row, pos := r.rows[r.verts[v].row], r.verts[v].pos
			if pos > 0 {
				lo = max(lo, r.verts[row[pos-1]].x+r.distance(row[pos-1], v))
			}
			if pos < len(row)-1 {
				hi = min(hi, r.verts[row[pos+1]].x-r.distance(v, row[pos+1]))
			}
		}
		x = min(max(x, min(a, b), lo), max(a, b, lo), hi)
		for _, v := range way[from:to] {
			r.verts[v].x = x
		}
		from = to
	}
}

// conflicts marks the segments that cross a segment between two bends, which is to be straight.
func (r *rows) conflicts() {
	for row := range len(r.rows) - 1 {
		left, scanned := -1, 0
		lower := r.rows[row+1]
		for i, v := range lower {
			inner := r.innerAbove(v)
			if inner < 0 && i < len(lower)-1 {
				continue
			}
			right := len(r.rows[row])
			if inner >= 0 {
				right = inner
			}
			for ; scanned <= i; scanned++ {
				for _, s := range r.verts[lower[scanned]].up {
					pos := r.verts[r.segs[s].from].pos
					bends := r.verts[lower[scanned]].item < 0 && r.verts[r.segs[s].from].item < 0
					if (pos < left || pos > right) && !bends {
						r.segs[s].crooked = true
					}
				}
			}
			left = right
		}
	}
}

// minors marks the segments of long and of reversed edges at an item that has others at that side:
// the others are to be straight.
func (r *rows) minors() {
	for v := range r.verts {
		for _, side := range [][]int{r.verts[v].up, r.verts[v].down} {
			major := slices.ContainsFunc(side, func(s int) bool { return !r.segs[s].long })
			for _, s := range side {
				r.segs[s].minor = r.segs[s].minor || major && r.segs[s].long && r.verts[v].item >= 0
			}
		}
	}
}

// innerAbove returns the position of the bend above a bend, or -1.
func (r *rows) innerAbove(v int) int {
	if r.verts[v].item >= 0 {
		return -1
	}
	above := &r.verts[r.segs[r.verts[v].up[0]].from]
	if above.item >= 0 {
		return -1
	}
	return above.pos
}

// extent returns how far the vertices reach if they are in these columns.
func (r *rows) extent(xs []int) (lo, hi int) {
	lo, hi = math.MaxInt, math.MinInt
	for v, x := range xs {
		lo, hi = min(lo, x-r.verts[v].left), max(hi, x+r.verts[v].right)
	}
	return lo, hi
}

// columns returns a column for each vertex: those that form a block, each being the median of the
// neighbours of another, are in one column, as far left or right as the rows allow.
func (r *rows) columns(below, right bool) []int {
	b := r.align(below, right)
	if right {
		b.mirror()
	}
	b.compact()
	xs := make([]int, len(r.verts))
	for v := range xs {
		if xs[v] = b.x[b.root[v]]; right {
			xs[v] = -xs[v]
		}
	}
	return xs
}

// blocks is a partition of the vertices. Each is named by its root.
type blocks struct {
	root  []int
	x     []int // of the roots
	pairs [][]pair
	roots []int
}

// pair is the distance that a block keeps from the one at its left.
type pair struct{ left, distance int }

// align forms the blocks, from the first row down or, if below is true, from the last row up, and
// prefers the left of two medians, or the right.
func (r *rows) align(below, right bool) *blocks {
	b := &blocks{root: make([]int, len(r.verts)), x: make([]int, len(r.verts)), pairs: make([][]pair, len(r.verts))}
	taken := make([]bool, len(r.verts)) // as the neighbour of one vertex
	for v := range b.root {
		b.root[v] = v
	}
	var near []int
	for n := range r.rows {
		row := n
		if below {
			row = len(r.rows) - 1 - n
		}
		last := -1
		if right {
			last = math.MaxInt
		}
		for i := range r.rows[row] {
			if right {
				i = len(r.rows[row]) - 1 - i
			}
			v := r.rows[row][i]
			near = r.sorted(near[:0], v, !below)
			for _, m := range medians(len(near), right) {
				u, s := r.across(near[m], !below), near[m]
				pos := r.verts[u].pos
				if r.segs[s].crooked || taken[u] || !right && pos <= last || right && pos >= last {
					continue
				}
				taken[u], b.root[v], last = true, b.root[u], pos
				break
			}
		}
	}
	for _, row := range r.rows {
		for i := range len(row) - 1 {
			b.pairs[b.root[row[i+1]]] = append(b.pairs[b.root[row[i+1]]], pair{b.root[row[i]], r.distance(row[i], row[i+1])})
		}
	}
	for v, root := range b.root {
		if v == root {
			b.roots = append(b.roots, v)
		}
	}
	return b
}

// sorted appends the segments above or below v from left to right, without the minor ones.
func (r *rows) sorted(to []int, v int, above bool) []int {
	segs := r.verts[v].down
	if above {
		segs = r.verts[v].up
	}
	for _, s := range segs {
		if !r.segs[s].minor {
			to = append(to, s)
		}
	}
	slices.SortStableFunc(to, func(a, b int) int {
		return cmp.Compare(r.verts[r.across(a, above)].pos, r.verts[r.across(b, above)].pos)
	})
	return to
}

func (r *rows) across(s int, above bool) int {
	if above {
		return r.segs[s].from
	}
	return r.segs[s].to
}

// medians returns the middle one of n, or both in the order of preference.
func medians(n int, right bool) []int {
	switch {
	case n == 0:
		return nil
	case n%2 == 1:
		return []int{n / 2}
	case right:
		return []int{n / 2, n/2 - 1}
	}
	return []int{n/2 - 1, n / 2}
}

// distance is how far two neighbours in a row are apart at least.
func (r *rows) distance(a, b int) int {
	gap := nodeGap
	if r.verts[a].item < 0 || r.verts[b].item < 0 {
		gap = bendGap
	}
	return r.verts[a].right + gap + r.verts[b].left
}

// mirror swaps left and right.
func (b *blocks) mirror() {
	mirrored := make([][]pair, len(b.pairs))
	for right, ps := range b.pairs {
		for _, p := range ps {
			mirrored[p.left] = append(mirrored[p.left], pair{right, p.distance})
		}
	}
	b.pairs = mirrored
}

// compact places each block as far left as it can be, and then those with free room at their
// right next to what is there.
func (b *blocks) compact() {
	placed := make([]bool, len(b.x))
	var sorted []int
	var visit func(int)
	visit = func(v int) {
		placed[v] = true
		for _, p := range b.pairs[v] {
			if !placed[p.left] {
				visit(p.left)
			}
			b.x[v] = max(b.x[v], b.x[p.left]+p.distance)
		}
		sorted = append(sorted, v)
	}
	for _, v := range b.roots {
		if !placed[v] {
			visit(v)
		}
	}
	room := make([]int, len(b.x))
	for i := range room {
		room[i] = math.MaxInt
	}
	for _, v := range slices.Backward(sorted) {
		if room[v] != math.MaxInt {
			b.x[v] = max(b.x[v], room[v])
		}
		for _, p := range b.pairs[v] {
			room[p.left] = min(room[p.left], b.x[v]-p.distance)
		}
	}
}
