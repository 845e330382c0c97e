package graph

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/internal/schedule"
	"github.com/weftrun/weft/internal/step"
	"github.com/weftrun/weft/state"
)

// program is a compiled graph of any state: what the executor runs. It does not
// change, and all runs share it.
type program struct {
	name         string
	shape        step.Program
	nodes        []node // numbered as in shape
	schema       *state.Schema
	expire       []int // the fields that live for one step
	breaks       bool  // some node has a static interrupt
	safe         bool  // folding the writes of one task cannot fail
	cfg          Config
	hash         string
	blobs        checkpoint.Blobs      // of the store; nil for none
	choiceLabels map[choiceEdge]string // for drawings
}

// choiceEdge is two nodes, by their numbers, of which the first may choose the second.
type choiceEdge struct{ from, to int }

// node is a compiled node.
type node struct {
	job
	name          string
	outcome       step.Outcome // of a task that only goes along the edges
	branches      []branch
	payload       *payloadType
	child         *program // the graph it runs, if it is one; for drawings
	cache         *caching // nil: its results are not cached
	onError       *job     // its handler, or nil
	ends          bool     // a static edge leads to End
	leaves        bool     // it may go to the parent, or its handler or a branch may
	mustGo        bool     // it has no static edge, so its Command must name a target
	straight      bool     // it has a static edge and no branch: no Command is needed
	quick         bool     // running it is to call it: there is no cache, limit or budget
	before, after bool     // a static interrupt
}

// watchesIdle reports whether the node or its handler has a Policy.Idle.
func (n *node) watchesIdle() bool { return n.idle > 0 || n.onError != nil && n.onError.idle > 0 }

// job is a function of the user and how it is run: a node's, or its handler's.
type job struct {
	call     call
	targets  targets
	limit    time.Duration // of one attempt; 0 is none
	idle     time.Duration // without a sign of life; 0 is none
	retry    *Retry
	budgeted bool           // the retries have a Budget
	gate     *schedule.Gate // each attempt passes it; nil is none
	shared   string         // the name of the Limit that gate is for
	parallel int            // at most so many attempts at once in a run; 0 is no bound
	queue    string         // see Policy.TaskQueue
	apart    bool           // see Policy.Child
	plain    bool           // no limit of any kind holds
}

type branch struct {
	call    call
	targets targets
}

// targets are the places a Command may go to, by name. There are few, so a scan
// is faster than a map.
type targets []target

type target struct {
	name string
	node int // end for End
}

const end = -1

func (ts targets) find(name string) (node int, ok bool) {
	for i := range ts {
		if ts[i].name == name {
			return ts[i].node, true
		}
	}
	return 0, false
}

func (ts targets) String() string {
	names := make([]string, len(ts))
	for i, t := range ts {
		names[i] = t.name
	}
	return strings.Join(names, ", ")
}

// compiled returns ErrNotCompiled for the zero Graph.
func (p *program) compiled() error {
	if p == nil {
		return ErrNotCompiled
	}
	return nil
}

// graphName returns the name of the graph, "" if p is nil.
func (p *program) graphName() string {
	if p == nil {
		return ""
	}
	return p.name
}

// programHash returns the hash of p, "" if p is nil.
func (p *program) programHash() string {
	if p == nil {
		return ""
	}
	return p.hash
}

// decodeInput reads a JSON object by wire name as an input. Beside an error of decoding, the view
// has the fields that could be read. Its State is nil if p is not compiled.
func (p *program) decodeInput(data []byte) (v state.View, err error) {
	if err := p.compiled(); err != nil {
		return v, err
	}
	v = p.schema.Blank()
	return v, p.schema.Decode(v, data)
}

// requireStore returns the store of p, or the reason why there is none.
func (p *program) requireStore() (checkpoint.Store, error) {
	if err := p.compiled(); err != nil {
		return nil, err
	}
	if p.cfg.Store == nil {
		return nil, ErrNoStore
	}
	return p.cfg.Store, nil
}

// find returns the number of a node.
func (p *program) find(name string) (int, bool) {
	return slices.BinarySearchFunc(p.nodes, name, func(n node, name string) int { return strings.Compare(n.name, name) })
}

// isUnknown reports whether a name of a static interrupt is neither that of a node nor "*".
func (p *program) isUnknown(name string) bool {
	_, ok := p.find(name)
	return name != "*" && (!ok || name == Start)
}

// interrupt sets static interrupts before and after the nodes with these names, and no others; "*"
// is every node.
func (p *program) interrupt(before, after []string) {
	p.breaks = false
	for i := range p.nodes {
		n := &p.nodes[i]
		n.before, n.after = n.isAmong(before), n.isAmong(after)
		p.breaks = p.breaks || n.before || n.after
	}
}

// isAmong reports whether names of static interrupts include the node.
func (n *node) isAmong(names []string) bool {
	return len(names) > 0 && n.name != Start && (slices.Contains(names, n.name) || slices.Contains(names, "*"))
}

// withInterrupts returns the program with the static interrupts of a call's options, where these
// have any, in place of those of its Config.
func (p *program) withInterrupts(o *RunOptions) *program {
	before, after := o.InterruptBefore, o.InterruptAfter
	switch {
	case before == nil && after == nil:
		return p
	case before == nil:
		before = p.cfg.InterruptBefore
	case after == nil:
		after = p.cfg.InterruptAfter
	}
	own := *p
	own.nodes = slices.Clone(p.nodes)
	own.interrupt(before, after)
	return &own
}

// hashInput returns a hash of an input.
func (p *program) hashInput(input state.View) (string, error) {
	data, err := p.schema.Encode(p.hashed(input))
	if err != nil {
		return "", fmt.Errorf("graph %q: input: %w", p.name, err)
	}
	return hash(string(data)), nil
}

// hashed returns the fields of an input that count for its hash.
func (p *program) hashed(input state.View) state.View {
	if !slices.ContainsFunc(p.schema.Fields(), func(f state.Field) bool { return f.Unhashed }) {
		return input
	}
	blank := p.schema.Blank()
	for i, f := range p.schema.Fields() {
		if !f.Unhashed {
			blank.Channels[i] = input.Channels[i]
		}
	}
	return blank
}

// digest returns a hash of what the program is: nodes, ways between them and the
// fields of the state. It does not depend on the order of the declarations of nodes,
// edges, joins, branches and targets.
func (p *program) digest() string {
	text := make([]byte, 0, 64*len(p.nodes))
	for i := range p.nodes {
		n, s := &p.nodes[i], &p.shape.Nodes[i]
		if i > 0 {
			text = append(text, '\n')
		}
		text = append(text, "node "...)
		text = strconv.AppendQuote(text, n.name)
		text = append(appendInts(append(text, ' '), s.Next), ' ')
		text = append(strconv.AppendBool(text, s.Deferred), ' ')
		text = append(text, n.targets.sorted()...)
		if n.ends {
			text = append(text, " ends"...)
		}
		if n.leaves {
			text = append(text, " leaves"...)
		}
		for _, b := range n.sortedBranches() {
			text = append(append(text, " branch "...), b...)
		}
		if n.onError != nil {
			text = append(append(text, ' '), storedHandler...)
			text = append(append(text, ' '), n.onError.targets.sorted()...)
		}
	}
	joins := make([]string, len(p.shape.Joins))
	for i, j := range p.shape.Joins {
		joins[i] = fmt.Sprintf("join %v %d", j.Sources, j.Target)
	}
	slices.Sort(joins)
	for _, f := range p.schema.Fields() {
		joins = append(joins, fmt.Sprintf("field %q %s %v %s", f.Name, f.Type, f.Turn, f.Default))
	}
	return hash(p.name, string(text), strings.Join(joins, "\n"), fmt.Sprint(p.shape.Start))
}

// appendInts appends numbers in the form of fmt.
func appendInts(b []byte, numbers []int) []byte {
	b = append(b, '[')
	for i, n := range numbers {
		if i > 0 {
			b = append(b, ' ')
		}
		b = strconv.AppendInt(b, int64(n), 10)
	}
	return append(b, ']')
}

// sorted returns the names of the targets in one order.
func (ts targets) sorted() string {
	if len(ts) == 0 {
		return "[]"
	}
	names := make([]string, len(ts))
	for i, t := range ts {
		names[i] = t.name
	}
	slices.Sort(names)
	return fmt.Sprintf("%q", names)
}

func (n *node) sortedBranches() []string {
	if len(n.branches) == 0 {
		return nil
	}
	all := make([]string, len(n.branches))
	for i, b := range n.branches {
		all[i] = b.targets.sorted()
	}
	slices.Sort(all)
	return all
}

// caching is a Caching with the type erased.
type caching struct {
	key     func(s any) (string, error) // nil: the whole state
	ttl     time.Duration
	version string
}

// hash returns 16 hex digits that depend on all parts and on where they end: enough
// to distinguish the things of one thread.
func hash(parts ...string) string { return longHash(parts...)[:16] }

// longHash returns 32 hex digits, enough to be unique.
func longHash(parts ...string) string {
	var room [256]byte
	text := room[:0]
	for _, p := range parts {
		text = appendPart(text, p)
	}
	return hexHash(text)
}

// appendPart appends a part of a text that is hashed.
func appendPart(text []byte, part string) []byte {
	text = append(strconv.AppendInt(text, int64(len(part)), 10), ':')
	return append(text, part...)
}

// appendNumber is appendPart for the digits of a number.
func appendNumber(text []byte, n int) []byte {
	var digits [20]byte
	d := strconv.AppendInt(digits[:0], int64(n), 10)
	return append(append(strconv.AppendInt(text, int64(len(d)), 10), ':'), d...)
}

func hexHash(text []byte) string {
	sum := sha256.Sum256(text)
	var digits [32]byte
	hex.Encode(digits[:], sum[:16])
	return string(digits[:])
}
