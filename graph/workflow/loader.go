package workflow

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/exprs"
)

// loader reads one file and those it names, each once.
type loader struct {
	opts     Options
	env      Env
	halfRead bool // a section or the shared file has mistakes, so what nodes use of it is not known
	nonce    string
	conf     []*entry   // of Options.Config
	hidden   []variable // that conf reads
	*problems
	done map[string]*Workflow // by path below the root; nil when it has mistakes

	limits map[string]placedLimit // of all files, by name
	named  **graph.Limits         // the same, once all files are read
	open   []string               // the files that are being read, the first one first
}

// newLoader returns a loader for the file at path, and its path below the root.
func newLoader(file string, o Options) (l *loader, rel string, err error) {
	if err := o.check(); err != nil {
		return nil, "", err
	}
	if o.Root == "" {
		o.Root = filepath.Dir(file)
	}
	if o.Out == "" {
		o.Out = filepath.Join(o.Root, "out")
	}
	if rel, err = pathBelow(o.Root, file); err != nil {
		return nil, "", err
	}
	l = &loader{opts: o, nonce: newNonce(), env: Env{Root: o.Root, Out: o.Out, AllowHosts: o.AllowHosts, AllowExec: o.AllowExec}, problems: &problems{most: maxProblems}, named: new(*graph.Limits), done: map[string]*Workflow{}, limits: map[string]placedLimit{}}
	return l, rel, nil
}

// first is parse for the file that is asked for.
func (l *loader) first(rel, name string, text []byte) (*Workflow, error) {
	if err := l.readConfig(); err != nil {
		return nil, err
	}
	return l.finish(enough(func() *Workflow { return l.parse(rel, name, text) }))
}

// parse turns a text into a Workflow. It may be nil when there are mistakes.
func (l *loader) parse(rel, name string, text []byte) *Workflow {
	src := &source{path: name, text: text, problems: l.problems, opts: &l.opts, exprs: exprs.NewCompiler(maxExprs)}
	root := src.parse()
	if root == nil {
		return nil
	}
	l.open = append(l.open, rel)
	defer func() { l.open = l.open[:len(l.open)-1] }()
	before := len(l.found)
	c := checker{source: src, plan: src.file(root, l.opts.names()), load: l, rel: rel}
	if c.plan.name == "" {
		c.plan.name = strings.TrimSuffix(path.Base(rel), path.Ext(rel))
	}
	src.vault = &vault{src: src, lookup: l.opts.lookup(), secrets: c.plan.secrets, nonce: l.nonce}
	ents := c.bindEntries()
	wellFormed := len(l.found) == before
	c.check()
	w := &Workflow{
		Name: c.plan.name, Description: c.plan.description, Path: name,
		plan: c.plan, src: src, shape: c.shape, env: l.env, vault: src.vault, timed: c.timed, opts: *src.opts, named: l.named, ents: ents,
	}
	w.env.vault = w.vault
	for _, n := range c.plan.nodes {
		if sub, ok := n.work.(*subWork); ok && sub.child != nil {
			w.subs = append(w.subs, sub.child)
		}
	}
	w.subs = append(w.subs, c.called...)
	w.Hash = w.digest()
	if wellFormed && c.shape != nil && !c.misled {
		found := len(l.found)
		w.checkGraph()
		if len(l.found) == found {
			c.checkPaths()
		}
		if l.mistakes() == 0 {
			c.warnBraces()
			c.warnElse()
			c.warnRejection()
			c.checkUnused()
		}
	}
	return w
}

// sub loads the file that at names, seen from the file rel, which is called name.
func (l *loader) sub(src *source, rel string, at *yaml.Node, given string) *Workflow {
	target := path.Join(path.Dir(rel), given)
	switch {
	case path.IsAbs(given) || !filepath.IsLocal(filepath.FromSlash(target)):
		src.fail(at, "WF512", "%s is outside of the root folder", given)
		return nil
	case slices.Contains(l.open, target):
		chain := l.open[slices.Index(l.open, target):]
		src.fail(at, "WF513", "a workflow cannot contain itself: %s → %s", strings.Join(chain, " → "), target)
		return nil
	}
	if w, ok := l.done[target]; ok {
		return w
	}
	text, err := l.read(target)
	if err != nil {
		src.fail(at, "WF511", "%s", strings.TrimPrefix(err.Error(), "workflow: "))
		return nil
	}
	before := l.mistakes()
	w := l.parse(target, path.Join(path.Dir(src.path), given), text)
	if l.mistakes() > before {
		w = nil
	}
	l.done[target] = w
	return w
}

// finish returns the workflow, or all that is wrong.
func (l *loader) finish(w *Workflow) (*Workflow, error) {
	if err := l.err(); err != nil {
		return nil, err
	}
	w.warns = l.sorted()
	var err error
	bounds := map[string]graph.Limit{}
	for name, limit := range l.limits {
		bounds[name] = limit.Limit
	}
	*l.named, err = newLimits(bounds)
	return w, err
}

// newLimits returns the limits; nil for none.
func newLimits(bounds map[string]graph.Limit) (*graph.Limits, error) {
	if len(bounds) == 0 {
		return nil, nil
	}
	return graph.NewLimits(bounds)
}

// digest returns a hash of the text and of the files it names.
func (w *Workflow) digest() string {
	h := sha256.New()
	fmt.Fprintf(h, "%d\n%s", len(w.src.text), w.src.text)
	for _, sub := range w.subs {
		fmt.Fprintf(h, "\n%s", sub.Hash)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// checkGraph lets package graph look for nodes that no path leads to and nodes that lead nowhere.
// It reports each mistake at the place of its node.
func (w *Workflow) checkGraph() {
	bounds := map[string]graph.Limit{}
	for _, l := range w.plan.limits.shared {
		bounds[l.name] = l.Limit
	}
	cfg := graph.Config{}
	var err error
	if cfg.Limits, err = newLimits(bounds); err != nil {
		return // it was reported
	}
	b, err := w.build(graph.Config{}, making{})
	if err == nil {
		_, err = b.Builder.Compile(b.pausing(w.limited(cfg)))
	}
	var ce *graph.CompileError
	if !errors.As(err, &ce) {
		return
	}
	seen := map[string]bool{}
	for _, m := range ce.Mistakes {
		key := m.Pos + " " + string(m.Kind)
		if seen[key] {
			continue // a node and its items have one place
		}
		seen[key] = true
		line, col := lineCol(m.Pos)
		w.src.failAt(line, col, graphCode(m.Kind), "", "%s", fileWords.Replace(m.What))
	}
}

// graphCode returns the code of a mistake that package graph finds. All others it
// knows are found before it is asked.
func graphCode(kind graph.MistakeKind) Code {
	if kind == graph.MistakeUnreachable {
		return "WF301"
	}
	return "WF303"
}

// fileWords puts messages of package graph into the words of a file.
var fileWords = strings.NewReplacer("End", endName, "from Start", "from the start")

// lineCol reads the end of a file:line:col.
func lineCol(pos string) (line, col int) {
	parts := strings.Split(pos, ":")
	if len(parts) < 3 {
		return 1, 1
	}
	line, _ = strconv.Atoi(parts[len(parts)-2])
	col, _ = strconv.Atoi(parts[len(parts)-1])
	return line, col
}
