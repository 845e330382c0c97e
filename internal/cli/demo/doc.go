// Package demo has the graph of `weft dev --demo`. It shows what the studio shows of a run: tasks
// in parallel, an attempt that fails and is repeated, a choice with its reason, a question to a
// person. It needs no network and no model.
package demo
