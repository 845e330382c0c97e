package picture

import (
	"cmp"
	"slices"
)

// order orders the rows from left to right, with few crossings.
func (r *rows) order() {
	r.unfold()
	best, fewest := r.save(), r.crossings()
	sweeps := min(max(1_000_000/(len(r.verts)+len(r.segs)+1), 4), 16)
	for n, worse := 0, 0; n < sweeps && fewest > 0 && worse < 4; n++ {
		r.sweep(n%2 == 0)
		if c := r.crossings(); c < fewest {
			best, fewest, worse = r.save(), c, 0
		} else {
			worse++
		}
	}
	r.restore(best)
	if len(r.verts) <= 4000 {
		r.swap()
	}
}

// unfold fills the rows in the order in which a depth-first search from the top finds the
// vertices.
func (r *rows) unfold() {
	seen := make([]bool, len(r.verts))
	var visit func(int)
	visit = func(v int) {
		if seen[v] {
			return
		}
		seen[v] = true
		at := &r.verts[v]
		at.pos = len(r.rows[at.row])
		r.rows[at.row] = append(r.rows[at.row], v)
		for _, s := range at.down {
			visit(r.segs[s].to)
		}
	}
	for _, sources := range []bool{true, false} {
		for v := range r.verts {
			if !sources || len(r.verts[v].up) == 0 {
				visit(v)
			}
		}
	}
}

func (r *rows) save() [][]int {
	all := make([][]int, len(r.rows))
	for i := range r.rows {
		all[i] = slices.Clone(r.rows[i])
	}
	return all
}

func (r *rows) restore(all [][]int) {
	for i, row := range all {
		r.rows[i] = row
		r.number(i)
	}
}

func (r *rows) number(row int) {
	for pos, v := range r.rows[row] {
		r.verts[v].pos = pos
	}
}

// sweep orders each row by the barycentres of the neighbours in the row before it, downwards or
// upwards. Vertices without such neighbours stay where they are.
func (r *rows) sweep(down bool) {
	centre := make([]int, len(r.verts))
	for n := range r.rows {
		row := n
		if !down {
			row = len(r.rows) - 1 - n
		}
		var free, moved []int
		for pos, v := range r.rows[row] {
			if sum, count := r.neighbours(v, down); count > 0 {
				centre[v] = sum * 1024 / count
				free, moved = append(free, pos), append(moved, v)
			}
		}
		slices.SortStableFunc(moved, func(a, b int) int { return cmp.Compare(centre[a], centre[b]) })
		for i, pos := range free {
			r.rows[row][pos] = moved[i]
		}
		r.number(row)
	}
}

// neighbours sums up the positions of the neighbours above or below a vertex.
func (r *rows) neighbours(v int, above bool) (sum, count int) {
	if above {
		for _, s := range r.verts[v].up {
			sum += r.verts[r.segs[s].from].pos
		}
		return sum, len(r.verts[v].up)
	}
	for _, s := range r.verts[v].down {
		sum += r.verts[r.segs[s].to].pos
	}
	return sum, len(r.verts[v].down)
}

// crossings counts the pairs of segments that cross.
func (r *rows) crossings() (sum int) {
	var ends []int
	for row := range len(r.rows) - 1 {
		ends = ends[:0]
		for _, v := range r.rows[row] {
			first := len(ends)
			for _, s := range r.verts[v].down {
				ends = append(ends, r.verts[r.segs[s].to].pos)
			}
			slices.Sort(ends[first:])
		}
		sum += inversions(ends, len(r.rows[row+1]))
	}
	return sum
}

// inversions counts the pairs of values, each below limit, of which the first is the larger.
func inversions(values []int, limit int) (sum int) {
	tree := make([]int, limit+1) // a binary indexed tree of how often each value was seen
	for seen, v := range values {
		smaller := 0
		for i := v + 1; i > 0; i -= i & -i {
			smaller += tree[i]
		}
		sum += seen - smaller
		for i := v + 1; i <= limit; i += i & -i {
			tree[i]++
		}
	}
	return sum
}

// swap swaps neighbours as long as that removes crossings.
func (r *rows) swap() {
	for better, passes := true, 0; better && passes < 8; passes++ {
		better = false
		for _, row := range r.rows {
			for i := range len(row) - 1 {
				a, b := row[i], row[i+1]
				if r.crossed(a, b) > r.crossed(b, a) {
					row[i], row[i+1] = b, a
					r.verts[a].pos, r.verts[b].pos = i+1, i
					better = true
				}
			}
		}
	}
}

// crossed counts the crossings of the segments at a and b if a is left of b.
func (r *rows) crossed(a, b int) (sum int) {
	for _, s := range r.verts[a].up {
		for _, t := range r.verts[b].up {
			if r.verts[r.segs[s].from].pos > r.verts[r.segs[t].from].pos {
				sum++
			}
		}
	}
	for _, s := range r.verts[a].down {
		for _, t := range r.verts[b].down {
			if r.verts[r.segs[s].to].pos > r.verts[r.segs[t].to].pos {
				sum++
			}
		}
	}
	return sum
}
