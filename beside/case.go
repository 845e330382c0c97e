package main

// Case is a question that is put to each runtime.
type Case struct {
	Name string // names the case in the page, and its programs
	Asks string // the graph, and what happens to it
	Law  string // what should happen, in one sentence
	Want string // the outcome that this is
}

// Outcomes that several cases share.
const (
	ended      = "ended"
	waits      = "waits for an answer"
	oneOrder   = "one order"
	manyOrders = "several orders"
	limited    = "error of the step limit"
	names      = "error that names the node"
)

// cases are all cases, in the order of the page.
var cases = []Case{
	{
		Name: "order",
		Asks: "Three parallel nodes append to one list. The graph runs 60 times, and each time another node is the slowest.",
		Law:  "The order of a result does not depend on which node was faster.",
		Want: oneOrder,
	},
	{
		Name: "uneven join",
		Asks: "A path of one node, a, and a path of two, b1 and b2, lead to a join.",
		Law:  "A join runs once, after all paths to it have ended.",
		Want: "a ×1, b1 ×1, b2 ×1, join after a b1 b2 ×1; " + ended,
	},
	{
		Name: "early end",
		Asks: "Two branches run in parallel. Branch a chooses the end of the graph; branch b goes on to c.",
		Law:  "A branch that ends does not end the others.",
		Want: "a ×1, b ×1, c ×1; " + ended,
	},
	{
		Name: "two answers in one message",
		Asks: "Two parallel nodes ask, and a join follows. Both answers come in one message.",
		Law:  "Each node gets its own answer, and the join runs once.",
		Want: "a=A ×1, b=B ×1, join ×1; " + ended,
	},
	{
		Name: "one answer after the other",
		Asks: "Two parallel nodes ask, and a join follows. The answer for a comes first, and later the one for b.",
		Law:  "The first answer leaves the other question open, and no node ends twice.",
		Want: "first a=A ×1; " + waits + "; then a=A ×1, b=B ×1, join ×1; " + ended,
	},
	{
		Name: "question beside a finished node",
		Asks: "Node a ends; b, parallel to it, asks; both lead to a join. Then b gets its answer.",
		Law:  "What ended beside a question is not run again, and the join has both results.",
		Want: "a ×1, b=yes ×1, join of a b ×1; " + ended,
	},
	{
		Name: "question in a fan-out",
		Asks: "A node fans out over the items 1, 2 and 3, and one node runs for each. Item 2 asks, and gets its answer.",
		Law:  "Only item 2 runs again, with its own payload.",
		Want: "item 1 ×1, item 2=yes ×1, item 3 ×1, join ×1; " + ended,
	},
	{
		Name: "repeated answer",
		Asks: "A node asks, and another follows it. The answer yes is sent twice, and then the answer no to the same question.",
		Law:  "A repeated answer changes nothing, and another one is refused.",
		Want: "a=yes ×1, after ×1; " + ended + "; no is refused",
	},
	{
		Name: "failing sibling",
		Asks: "Of two parallel nodes a ends and then b fails. The thread is tried again, and b succeeds.",
		Law:  "What ended beside a failure is not run again.",
		Want: "a ×1, b ×1, b fails ×1, join ×1; " + ended,
	},
	{
		Name: "restart in a fan-out",
		Asks: "Of three parallel nodes a and b have ended when the program stops the run; c is cut off. " +
			"A new program goes on with the store of the first one.",
		Law:  "Only c runs again.",
		Want: "a ×1, b ×1, c ×1, c cut off ×1, join ×1; " + ended,
	},
	{
		Name: "handler beside a failing sibling",
		Asks: "Of two parallel nodes a fails, and a handler takes its place; then b, which has none, fails. " +
			"The thread is tried again, and b succeeds.",
		Law:  "The handler's result stays; neither a nor its handler run again.",
		Want: "a fails ×1, b ×1, b fails ×1, handler ×1, join ×1; " + ended,
	},
	{
		Name: "endless loop",
		Asks: "A node leads to itself, and never chooses the end. The documented limit of steps is set to 50, where there is one.",
		Law:  "A limit is an error: a run that was cut off does not look like one that has ended.",
		Want: limited,
	},
	{
		Name: "cancelled loop",
		Asks: "A node leads to itself. During its tenth run the caller's context is cancelled; the node itself ignores that.",
		Law:  "No further step begins, and the run returns the error of the context.",
		Want: "no further step; error of the context",
	},
	{
		Name: "concurrent runs",
		Asks: "One compiled graph runs 200 times at once: a fan-out of three nodes and a join, each run with its own input.",
		Law:  "A compiled graph may be shared.",
		Want: "200 of 200 right",
	},
	{
		Name: "panic",
		Asks: "Of two parallel nodes one, risky, panics.",
		Law:  "The panic is the run's error, which names the node, and the process lives.",
		Want: names,
	},
	{
		Name: "timeout of a node",
		Asks: "A node, slow, may take 50 ms beside another. It waits for its context to end.",
		Law:  "The node's context ends, and the run's error names the node.",
		Want: names,
	},
	{
		Name: "state that cannot be stored",
		Asks: "The graph has a store, and its state a field of a type that cannot be stored, a function.",
		Law:  "This is a mistake in the program, so the graph is refused before it runs.",
		Want: "refused before it runs",
	},
	{
		Name: "newest checkpoint",
		Asks: "A chain of ten nodes counts its steps in the state. When the run has returned, the newest checkpoint is read.",
		Law:  "The newest checkpoint has the state with which the run ended.",
		Want: "the newest checkpoint has 10 of 10 steps",
	},
	{
		Name: "going back in a subgraph",
		Asks: "A subgraph of s1 and s2 lies between p and z. After the end the thread goes back to the point in the subgraph between s1 and s2.",
		Law:  "s2 and z run again, and what came before them does not.",
		Want: "p ×1, s1 ×1, s2 ×2, z ×2; " + ended,
	},
	{
		Name: "order of options",
		Asks: "A run pauses at a question. Then a new run of the same thread begins from the start, by two options that are given in each order.",
		Law:  "Options mean the same in each order.",
		Want: "the same",
	},
}
