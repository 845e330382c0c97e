// Package workflow loads a graph that is written down in YAML: the same builder, the
// same runs and checkpoints as a graph in Go, with mistakes at file:line:col.
//
//	w, err := workflow.Load("review.yaml", workflow.Options{Kinds: nodes.Kinds()})
//	g, err := w.Compile(graph.Config{Store: store})
//	in, err := w.Input(map[string]json.RawMessage{"topic": []byte(`"go"`)})
//	res, err := g.Invoke(ctx, in, graph.RunOptions{Thread: "t1"})
//	out := w.Output(&res.State)
//
// # The language
//
// A file is one graph. Every name in it is declared, and what is not is a mistake.
//
//	version: 1
//	name: review                        # the file's name where it is missing
//	description: Draft, ask, publish.
//
//	types:
//	  Source: {url: string, title: string, text: {type: string, default: ""}}
//	# types: bool int number string any blob list<T> map<T> object{a: T, b?: T}
//	state:
//	  topic:   {type: string, required: true}
//	  sources: {type: list<Source>, reducer: append}
//	  draft:   string                   # short for {type: string}
//	  tries:   {type: int, reducer: add, scope: turn}
//	config: {model: {type: string, default: small}}   # settings of a run, read as config.model
//	input: [topic]                      # missing: any field; [] for none
//	output: [draft]                     # missing: every field
//	env: {REGION: {default: eu}}          # of the environment, read in expressions as env.REGION
//	secrets: {key: "${env:SEARCH_KEY}"}
//	limits:
//	  {steps: 40, run_timeout: 10m, concurrency: 16, fanout: 200, shared: {web: {rate: 10/s}}}
//	defaults: {retry: {max: 2}, timeout: 1m}   # of nodes without their own
//	start: find                         # missing: the first node
//
//	nodes:
//	  find:
//	    http:
//	      url: https://example.org
//	      query: {q: "${{ state.topic }}"}
//	      headers: {x-key: "${secret:key}"}
//	    limit: web
//	    on_error: {if: error.code == "http:404", to: END}
//	    output: {sources: "${{ result.json.items }}"}
//	    retry: {max: 3, initial: 1s, max_delay: 1m, backoff: exponential, jitter: true}
//	    timeout: 30s
//	    next: [write, check]            # both
//	  check:
//	    for_each: {in: state.sources, as: src, max: 100}
//	    uses: go:check                  # a function in Go, see Go
//	    with: {url: "${{ src.url }}"}
//	    next: ask
//	  write:
//	    workflow: ./write.yaml          # another file
//	    input: {sources: "${{ state.sources }}"}
//	    output: {draft: "${{ result.text }}"}
//	    next: ask
//	  ask:
//	    join: [write, check]            # wait for both
//	    approval: {title: Publish it, show: "${{ state.draft }}"}
//	    next:                           # the first that holds
//	      - {if: result.approved, to: publish}
//	      - {if: state.tries > 2, to: END}
//	      - {else: [write, check]}      # a loop runs every arm again
//	  publish:
//	    if: state.draft != ""           # or do nothing and go on
//	    set: {tries: 1}
//	    next: END
//	tests:
//	  - name: publishes
//	    input: {topic: go}
//	    mock:
//	      find: {result: {json: {items: []}}}
//	      write: {result: {text: x}}
//	    answers: [{ask: true}]
//	    expect: {path: [find, [check, write], ask, publish], output: {draft: x}}
//
// Reducers say how a write meets what is there: replace (the default; two writes in
// one step are an error), latest, append, add, max, min, merge (a map, by key; null
// removes), union (a set), deep_merge (a map, on every level), prepend, once (a second write
// is an error), messages (a conversation), and those of a program: [ReducerOf]. Its types
// are named by [TypeOf].
//
// A node is of one kind: set, ask, workflow, uses, or one of [Options.Kinds]. Its output
// writes fields from its result. docs/workflow.md describes the rest: on_error, caches, shared
// limits, edges at the top or from requires and provides, forms.
//
// Expressions are written without braces in if, for_each.in and conditions, and in ${{ }} in
// values. docs/workflow.md lists their functions. They see state, config, env, run, the item of a
// for_each (named item without as), and result, which is nil when the node was skipped; in on_error
// also error. A value that is one ${{ }} keeps its type; any other is text.
//
// # What to know
//
//   - All values of set or output are computed before the first is written. Nodes of
//     one step see the state as it was when the step began.
//   - A for_each runs once an item, each in a task of its own that is retried and asks
//     on its own. Writes are merged in the order of the items. Its if is asked once,
//     before the list; its next is followed once, after the last item, or at once
//     when there is none. Events name the tasks node.each, and what decides next
//     after it node.next.
//   - An arm of a join leads there in its next, without a condition. A way into the
//     joining node from elsewhere, such as a loop, does not wait.
//   - The next of a for_each, a set, a workflow or a cached node has no result: write what
//     it decides on into a field.
//   - A kind takes secrets by parameters of the type [Secret]; [Env.Reveal] reads the value.
//     [Workflow.InputWith] sets what the file declares under config for one turn.
//     [Workflow.CheckEnv] reports what the environment lacks.
//   - [Workflow.RunTests] runs the tests of a file. [Workflow.Marshal] writes it anew in one
//     canonical form.
//   - [Options.Sections] are sections that a program adds, such as models and tools; package nodes
//     has both. Files share them by [Options.Config].
//   - The path of a sub-workflow is seen from the file
//     that names it; the paths of files that nodes read are seen from the root.
//   - Quote values with ": " or " #" in them, and in [ ] and { } all with , or ?.
//     A date, 017, 0x1F and 1_000 must be quoted or written otherwise; yes, no and on
//     are text.
//
// # Duties
//
//  1. All mistakes, up to 200, are reported at once, sorted, each at its place and with a code that
//     [Explain] explains; those that package graph finds too.
//  2. No file crashes, hangs or fills the memory: its bytes, depth, nodes, aliases
//     and expressions are bounded, and merge keys and tags refused.
//  3. Files named in a file stay below the root, after symbolic links.
//  4. A loaded workflow is immutable; Hash covers the file and those it names.
//  5. An error of a run names the node, and the place in the file.
//  6. The value of a secret is in no checkpoint, event, error, question or drawing, but for
//     what a Runner itself does with it.
//
// The package is the only one that imports gopkg.in/yaml.v3.
package workflow
