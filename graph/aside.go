package graph

import "slices"

// line is the tasks of a step that wait for the same places: those of a Policy.Parallel or of a Limit. As many
// workers go to them as there are places, the others set them aside and go on, so that what waits holds up
// nothing else of the step.
type line struct {
	of     any // a *job or a *gate
	places int
	busy   int   // the workers that are at one of its tasks
	aside  []int // places in r.todo, in their order
}

// admit returns the first place from at on whose task may be begun, and its line, which may be nil. When only those
// are left that were set aside, it is one of them; behind the last there is none.
func (r *run) admit(p *pool, at int) (int, *line) {
	for ; at < len(r.todo); at = p.take() {
		of, places := r.tasks[r.todo[at]].bound()
		if places == 0 {
			return at, nil
		}
		if l, ok := p.joins(of, places, at); ok {
			return at, l
		}
	}
	return p.fetch(at)
}

// following is admit for a worker that has done a task of l: the next one of it comes first.
func (r *run) following(p *pool, l *line) (int, *line) {
	if l != nil {
		if at, ok := p.fetchFrom(l); ok {
			return at, l
		}
	}
	return r.admit(p, p.take())
}

// bound returns what t would wait for and how many places it has; 0 if t waits for nothing.
func (t *task) bound() (of any, places int) {
	if n := t.job.parallel; n > 0 {
		of, places = t.job, n
	}
	if g := t.job.gate; g != nil && g.size > 0 && (places == 0 || g.size < places) && !t.around().holds(g) {
		of, places = g, g.size
	}
	return of, places
}

// joins makes the task at this place one of a line. False means that it was set aside.
func (p *pool) joins(of any, places, at int) (*line, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.IndexFunc(p.lines, func(l *line) bool { return l.of == of })
	if i < 0 {
		i = len(p.lines)
		p.lines = append(p.lines, &line{of: of, places: places})
	}
	l := p.lines[i]
	if l.busy >= l.places {
		l.aside = append(l.aside, at)
		p.aside.Add(1)
		return l, false
	}
	l.busy++
	return l, true
}

// fetchFrom returns the place of the first task of l that was set aside, if there is one and a worker may go to it.
func (p *pool) fetchFrom(l *line) (at int, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(l.aside) == 0 || l.busy >= l.places {
		return 0, false
	}
	return p.pop(l), true
}

// fetch returns a task that was set aside, of the line with the fewest workers: nothing else is left, so they may as
// well wait for their places. There is none if what it returns is last.
func (p *pool) fetch(last int) (at int, l *line) {
	if p.aside.Load() == 0 {
		return last, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range p.lines {
		if len(m.aside) > 0 && (l == nil || m.busy < l.busy) {
			l = m
		}
	}
	if l == nil {
		return last, nil
	}
	return p.pop(l), l
}

// pop takes the first task that was set aside, with mu held.
func (p *pool) pop(l *line) (at int) {
	at, l.aside = l.aside[0], l.aside[1:]
	l.busy++
	p.aside.Add(-1)
	return at
}

// leaves says that a worker has left a task of l, which may be nil.
func (p *pool) leaves(l *line) {
	if l == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	l.busy--
}
