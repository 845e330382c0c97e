package picture

import "slices"

// pen draws a line.
type pen struct {
	start, at Point
	curves    []Curve
}

func newPen(at Point) *pen { return &pen{start: at, at: at} }

// to draws a straight line. Two in the same direction become one.
func (p *pen) to(q Point) {
	if q == p.at {
		return
	}
	if n := len(p.curves); n > 0 && p.curves[n-1].Straight {
		before := p.start
		if n > 1 {
			before = p.curves[n-2].To
		}
		if before.X == p.at.X && p.at.X == q.X || before.Y == p.at.Y && p.at.Y == q.Y {
			p.curves = p.curves[:n-1]
		}
	}
	p.curves = append(p.curves, Curve{To: q, Straight: true})
	p.at = q
}

// bend draws a curve to a point below that begins and ends vertically.
func (p *pen) bend(q Point) {
	if q.X == p.at.X {
		p.to(q)
		return
	}
	half := (q.Y - p.at.Y) / 2
	p.curves = append(p.curves, Curve{C1: Point{p.at.X, p.at.Y + half}, C2: Point{q.X, q.Y - half}, To: q})
	p.at = q
}

// corners draws straight lines with round corners between them.
func (p *pen) corners(way []Point) {
	for i, q := range way {
		if i == len(way)-1 {
			p.to(q)
			return
		}
		next := way[i+1]
		in, out := toward(q, p.at, corner), toward(q, next, corner)
		p.to(in)
		if in != out && (in.X != out.X && in.Y != out.Y) {
			p.curves = append(p.curves, Curve{C1: q, C2: q, To: out})
			p.at = out
		} else {
			p.to(out)
		}
	}
}

// toward returns the point so far from a on the way to b, or the middle between them if that is
// nearer. The way is horizontal or vertical.
func toward(a, b Point, far int) Point {
	step := func(from, to int) int {
		switch d := min(far, abs(to-from)/2); {
		case to < from:
			return from - d
		default:
			return from + d
		}
	}
	return Point{step(a.X, b.X), step(a.Y, b.Y)}
}

// follow draws what another pen has drawn.
func (p *pen) follow(q *pen) {
	p.to(q.start)
	for _, c := range q.curves {
		if c.Straight {
			p.to(c.To)
			continue
		}
		p.curves = append(p.curves, c)
		p.at = c.To
	}
}

// reverse turns a line round.
func (l *Line) reverse() {
	turned := make([]Curve, 0, len(l.Curves))
	for i, c := range slices.Backward(l.Curves) {
		to := l.Start
		if i > 0 {
			to = l.Curves[i-1].To
		}
		turned = append(turned, Curve{C1: c.C2, C2: c.C1, To: to, Straight: c.Straight})
	}
	if len(l.Curves) > 0 {
		l.Start = l.Curves[len(l.Curves)-1].To
	}
	l.Curves = turned
}
