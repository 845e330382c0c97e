package refmodel

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
)

// Rewinder is a Runner that can go back in its subgraphs.
type Rewinder interface {
	Runner
	// Back goes back to a commit of a subgraph of this turn and runs from there. which chooses one
	// of them. ok is false when there is none.
	Back(which uint64) (o Outcome, ok bool)
}

var (
	_ Rewinder = (*Interpreter)(nil)
	_ Rewinder = (*Engine)(nil)
)

// mostBacks bounds how often a turn is gone back in.
const mostBacks = 3

// PlayBack is Play, not calm, that sometimes goes back in a subgraph, while the thread waits and
// after it has ended.
func PlayBack(sp *Spec, r Rewinder, seed uint64) (seen []Outcome, backs int) {
	discard := false
	for _, input := range sp.Turns {
		p := player{r, seed, false, &seen}
		o := p.saw(r.Invoke(input, discard))
		for left := mostBacks; len(seen) < 2000; {
			h := p.chance()
			if left > 0 && (o.Status == "done" || o.Status == "interrupted") && h%2 == 0 {
				left--
				if back, ok := r.Back(h / 2); ok {
					o = p.saw(back)
					backs++
					continue
				}
			}
			if !p.goesOn(o) {
				break
			}
			o = p.move(o)
		}
		discard = o.Status != "done"
	}
	return seen, backs
}

// mark names a commit of a subgraph. The engine and the interpreter sort marks by key.
type mark struct {
	key string // which subgraph
	at  int    // which commit of it, from 1
}

// keyOf names the subgraph that a node of a graph began in a step, on a branch of the thread.
func keyOf(host string, turn, step int, node string, branch int) string {
	return fmt.Sprintf("%s/%03d.%03d.%s@%03d", host, turn, step, node, branch)
}

// pickMark returns one of several marks.
func pickMark(all []mark, which uint64) (mark, bool) {
	if len(all) == 0 {
		return mark{}, false
	}
	slices.SortFunc(all, func(a, b mark) int { return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.at, b.at)) })
	return all[which%uint64(len(all))], true
}

// chain holds the commits of one graph, oldest first.
type chain struct {
	key     string
	place   string // of the graph: see Interpreter
	host    *chain // of the graph that runs it; nil at the root
	node    string // of the host
	commits []moment
}

// moment is a commit: what a graph had come to, with nothing done of what is due.
type moment struct {
	state      plain
	turn, step int
	due        []job
	waiting    map[string]bool
	arrived    map[int][]string
	host       int // the commit of the host before the step that runs the graph, from 1
	rootTurn   int
}

// way is the path of a job to a commit of its subgraph.
type way struct {
	chain *chain
	at    int
	next  *way // of its own job
}

// root returns the graph of the thread.
func (in *Interpreter) root() *Interpreter {
	for in.host != nil {
		in = in.host
	}
	return in
}

// within makes in the subgraph of a node, on a chain of its own.
func (in *Interpreter) within(host *Interpreter, node string) {
	in.host = host
	in.chain = &chain{place: in.place, host: host.chain, node: node}
	in.chain.key = keyOf(host.chain.key, host.turn, host.step, node, host.root().branch)
	in.shared.chains = append(in.shared.chains, in.chain)
}

// commit keeps the moment.
func (in *Interpreter) commit() {
	m := moment{state: maps.Clone(in.state), turn: in.turn, step: in.step, waiting: maps.Clone(in.waiting), arrived: cloned(in.arrived), rootTurn: in.root().turn}
	for _, j := range in.due {
		m.due = append(m.due, job{node: j.node, payload: j.payload, id: j.id, back: j.back})
	}
	if in.host != nil {
		m.host = len(in.host.chain.commits)
	}
	in.chain.commits = append(in.chain.commits, m)
}

func cloned(arrived map[int][]string) map[int][]string {
	c := map[int][]string{}
	for i, names := range arrived {
		c[i] = slices.Clone(names)
	}
	return c
}

// fork makes in what it was at a commit of its chain, as the first commit of a branch.
func (in *Interpreter) fork(at int, next *way) {
	m := in.chain.commits[at-1]
	in.state, in.turn, in.step, in.waiting, in.arrived = maps.Clone(m.state), m.turn, m.step, maps.Clone(m.waiting), cloned(m.arrived)
	in.due, in.ran, in.passed = nil, nil, false
	for _, j := range m.due {
		switch {
		case next != nil && next.chain.node == j.node.Name:
			j.back = next
		case next != nil:
			j.back = nil
		} // otherwise the commit that began a branch sets it
		in.due = append(in.due, &j)
	}
	in.branch = len(in.chain.commits) + 1
	in.note()
}

// Back implements [Rewinder].
func (in *Interpreter) Back(which uint64) (Outcome, bool) {
	var all []mark
	chains := map[string]*chain{}
	for _, c := range in.shared.chains {
		chains[c.key] = c
		for i, m := range c.commits {
			if m.rootTurn == in.turn {
				all = append(all, mark{c.key, i + 1})
			}
		}
	}
	to, ok := pickMark(all, which)
	if !ok {
		return Outcome{}, false
	}
	in.shared.fresh = map[string]bool{}
	var path *way
	c, at, isNewest := chains[to.key], to.at, true
	for ; c.host != nil; c, at = c.host, c.commits[at-1].host {
		isNewest = isNewest && at == len(c.commits)
		path = &way{c, at, path}
	}
	if !isNewest || at != len(c.commits) {
		in.shared.answers = map[string]int{} // those of finished tasks do not matter any more
		in.fork(at, path)
	}
	return in.outcome(in.loop()), true
}

// Back implements [Rewinder].
func (e *Engine) Back(which uint64) (Outcome, bool) {
	spaces, err := graph.Namespaces(e.ctx, e.store, e.Thread)
	if err != nil {
		panic(err)
	}
	slices.SortFunc(spaces, func(a, b string) int { return len(a) - len(b) }) // hosts come first
	turn, keys, named := e.turn(), map[string]string{}, map[string]string{}
	var all []mark
	for _, ns := range spaces {
		var newestFirst []*checkpoint.Within
		var at []int
		for snap, err := range e.store.History(e.ctx, checkpoint.Key{Thread: e.Thread, Namespace: ns}, checkpoint.Query{}) {
			if err != nil {
				panic(err)
			}
			rec, err := checkpoint.ReadRecord(snap)
			if err != nil {
				panic(err)
			}
			newestFirst, at = append(newestFirst, rec.Within), append(at, int(snap.Seq))
		}
		first := newestFirst[len(newestFirst)-1]
		keys[ns] = keyOf(keys[first.Namespace], first.Turn, first.Step, first.Node, int(first.Root.Branch))
		named[keys[ns]] = ns
		for i, w := range newestFirst {
			if w.Root.Turn == turn {
				all = append(all, mark{keys[ns], at[i]})
			}
		}
	}
	to, ok := pickMark(all, which)
	if !ok {
		return Outcome{}, false
	}
	o := graph.RunOptions{Thread: e.Thread, Durability: e.Durability, Namespace: named[to.key], At: uint64(to.at)}
	res, err := e.Graph.Resume(e.ctx, graph.Answers{}, o)
	return e.outcome(res, err), true
}
