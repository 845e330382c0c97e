package graph

import (
	"context"
	"fmt"

	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/state/record"
)

// Builder collects the parts of a graph over the state S. Its methods never fail;
// Compile reports every mistake at once, each with the file and line of the call
// that made it. A Builder is not safe for concurrent use.
type Builder[S any] struct{ d *draft }

// New returns an empty graph with this name. The name goes into checkpoints.
func New[S any](name string) *Builder[S] {
	schema, err := state.SchemaOf[S]()
	return &Builder[S]{&draft{name: name, schema: schema, schemaErr: err, pos: caller(1), parts: &parts{}}}
}

// NewRecord returns an empty graph whose state is declared by shape instead of a
// Go type: the ground of graphs that are written down.
func NewRecord(name string, shape *record.Shape) *Builder[record.Record] {
	return &Builder[record.Record]{&draft{name: name, schema: shape.Schema(), pos: caller(1), parts: &parts{}}}
}

// draft returns what was declared so far. The zero Builder is that
// of a graph without a name, which Compile reports.
func (b *Builder[S]) draft() *draft {
	if b.d == nil {
		schema, err := state.SchemaOf[S]()
		b.d = &draft{schema: schema, schemaErr: err, pos: caller(2), parts: &parts{}}
	}
	return b.d
}

// Node adds a node. A node without a Policy ([Node.With]) has that of Defaults.
func (b *Builder[S]) Node(name string, n Node[S]) {
	d := nodeDraft{name: name, call: n.call, targets: n.targets, payload: n.payload, child: n.child, cache: n.cache,
		policy: n.policy, pos: b.draft().place()}
	for _, f := range n.faults {
		b.draft().fail(d.pos, "node %q: %s", name, f)
	}
	b.draft().nodes = append(b.draft().nodes, d)
}

// Defaults is the Policy of the nodes and handlers that were given none, wherever it
// is called. A Policy of a node replaces it as a whole: its zero fields mean no
// limit and no retry, not the default. Subgraphs have their own.
func (b *Builder[S]) Defaults(p Policy) {
	pos := b.draft().place()
	if b.draft().defaults != nil {
		b.draft().fail(pos, "Defaults was already called, at %s", b.draft().defaults.pos)
		return
	}
	b.draft().defaults = &defaultDraft{p, pos}
}

// Edge makes to due when from has completed. From may be [Start], to may be [End].
func (b *Builder[S]) Edge(from, to string) {
	b.draft().edges = append(b.draft().edges, edgeDraft{from, to, b.draft().place()})
}

// Branch calls choose after each completion of from. choose sees the state with the writes of
// from, and no sibling's. The run follows both the Command and the static edges of from. The
// Command may only name the targets; the zero Command adds nothing.
//
// From may be [Start]: choose then decides with which nodes a turn begins, beside the static
// edges from Start. It sees the state with the input, in a superstep of its own, as a node named
// Start with the policy of Defaults: it may ask, fail and be resumed like any node.
func (b *Builder[S]) Branch(from string, choose func(ctx context.Context, s *S) (Command, error), targets ...string) {
	c := func(ctx context.Context, s, _ any) (Command, error) { return choose(ctx, s.(*S)) }
	b.draft().branches = append(b.draft().branches, branchDraft{from, c, targets, b.draft().place()})
}

// Join makes to due once all of from have completed, in whatever steps they do. It
// starts anew when it has fired, and with each new input. A Worker has completed with
// the first step in which tasks of it ran; where there may be none to run, let the
// node that sends them go on by itself. See Result.Starved for joins that never fired.
func (b *Builder[S]) Join(to string, from ...string) {
	b.draft().joins = append(b.draft().joins, joinDraft{to, from, b.draft().place()})
}

// Defer lets a node wait, once it is reached, until nothing else is due.
func (b *Builder[S]) Defer(node string) {
	b.draft().defers = append(b.draft().defers, namedDraft{node, b.draft().place()})
}

// Label describes in drawings when a choice is taken, such as "no facts yet". A choice is a way
// that a Command of a node, one of its branches or its error handler may take.
func (b *Builder[S]) Label(from, to, when string) {
	b.draft().labels = append(b.draft().labels, labelDraft{from, to, when, b.draft().place()})
}

// At returns a Builder of the same graph whose calls are reported at pos, for
// front ends that read a graph from a file.
func (b *Builder[S]) At(pos string) *Builder[S] {
	d := *b.draft() // the parts stay shared
	d.at = place{text: pos}
	return &Builder[S]{&d}
}

// draft is a graph as it was declared, before it is checked.
type draft struct {
	name      string
	schema    *state.Schema
	schemaErr error
	pos       place
	at        place // where calls are reported; the zero place means at their own line
	*parts
}

type parts struct {
	nodes    []nodeDraft
	edges    []edgeDraft
	branches []branchDraft
	joins    []joinDraft
	defers   []namedDraft
	handlers []handlerDraft
	labels   []labelDraft
	defaults *defaultDraft // nil if there are none
	mistakes []Mistake
}

// place returns where the call of a Builder's method is to be reported.
func (d *draft) place() place {
	if d.at != (place{}) {
		return d.at
	}
	return caller(2)
}

func (d *draft) fail(pos place, format string, args ...any) {
	d.mistakes = append(d.mistakes, Mistake{Pos: pos.String(), What: fmt.Sprintf(format, args...)})
}

type nodeDraft struct {
	name    string
	call    call
	targets []string
	payload *payloadType
	child   *program
	cache   *caching
	policy  *Policy // nil: that of Defaults
	pos     place
	entry   bool // it is no node of the user's: the branches of Start lead from it
}

type defaultDraft struct {
	policy Policy
	pos    place
}

type edgeDraft struct {
	from, to string
	pos      place
}

type branchDraft struct {
	from    string
	call    call
	targets []string
	pos     place
}

type joinDraft struct {
	to   string
	from []string
	pos  place
}

type namedDraft struct {
	name string
	pos  place
}

type labelDraft struct {
	from, to, when string
	pos            place
}

// handlerDraft is a handler as it was declared.
type handlerDraft struct {
	node string
	nodeDraft
}
