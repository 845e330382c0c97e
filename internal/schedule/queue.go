package schedule

import "slices"

// waitQueue is the tasks of a step that share a concurrency key. As many workers run them as the
// key allows. The other tasks of the key are parked, so that what waits holds up nothing else of
// the step.
type waitQueue struct {
	key    any
	limit  int
	busy   int   // the workers that run a task of the key
	parked []int // in their order
}

// ready returns the first task from i on that may begin, with its wait queue, if it has one.
// When only parked tasks are left, it returns one of these. A number from n up means that there
// is none.
func (p *Pool) ready(i int) (int, *waitQueue) {
	for ; i < p.n; i = p.next() {
		key, limit := p.tasks.Key(i)
		if limit == 0 {
			return i, nil
		}
		q, ok := p.enter(key, limit, i, false)
		if !ok {
			p.tasks.Waits(i) // not under the lock
			q, ok = p.enter(key, limit, i, true)
		}
		if ok {
			return i, q
		}
	}
	return p.dequeueAny(i)
}

// nextAfter is ready for a worker that has run a task of q: the next one of it comes first.
func (p *Pool) nextAfter(q *waitQueue) (int, *waitQueue) {
	if q != nil {
		if i, ok := p.dequeue(q); ok {
			return i, q
		}
	}
	return p.ready(p.next())
}

// enter makes a worker busy with task i of a key. False means that the key allows no other worker;
// with park the task is parked then.
func (p *Pool) enter(key any, limit, i int, park bool) (*waitQueue, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := slices.IndexFunc(p.queues, func(q *waitQueue) bool { return q.key == key })
	if at < 0 {
		at = len(p.queues)
		p.queues = append(p.queues, &waitQueue{key: key, limit: limit})
	}
	q := p.queues[at]
	if q.busy >= q.limit {
		if park {
			q.parked = append(q.parked, i)
			p.parked.Add(1)
		}
		return q, false
	}
	q.busy++
	return q, true
}

// dequeue returns the first parked task of q, if there is one and the key allows another worker.
func (p *Pool) dequeue(q *waitQueue) (i int, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(q.parked) == 0 || q.busy >= q.limit {
		return 0, false
	}
	return p.pop(q), true
}

// dequeueAny returns a parked task of the queue with the fewest workers: nothing else is left,
// so its worker may as well wait for its turn. If no task is parked, it returns last.
func (p *Pool) dequeueAny(last int) (i int, q *waitQueue) {
	if p.parked.Load() == 0 {
		return last, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, other := range p.queues {
		if len(other.parked) > 0 && (q == nil || other.busy < q.busy) {
			q = other
		}
	}
	if q == nil {
		return last, nil
	}
	return p.pop(q), q
}

// pop takes the first parked task of q. The caller holds mu.
func (p *Pool) pop(q *waitQueue) (i int) {
	i, q.parked = q.parked[0], q.parked[1:]
	q.busy++
	p.parked.Add(-1)
	return i
}

// leave notes that a worker has run a task of q, which may be nil.
func (p *Pool) leave(q *waitQueue) {
	if q == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	q.busy--
}
