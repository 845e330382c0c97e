// Package demo has the graphs of `weft dev --demo`. It shows what the studio shows of a run: tasks
// in parallel, an attempt that fails and is repeated, a choice with its reason, a question to a
// person. Another graph is to chat with. They need no network, and no model but a script.
package demo
