// Package recording stores the calls of models and tools that a test makes, and replays them later:
// without a network and a key.
//
//	m := recording.Model("writer", provider) // any model.Model
//	set = recording.Tools(set)               // any *tool.Set
//
//	rec, err := recording.Open("testdata/poem.yaml", recording.Options{Record: *record})
//	...
//	res, err := g.Invoke(rec.Context(ctx), input, graph.RunOptions{})
//	...
//	if cerr := rec.Close(err); cerr != nil {
//		t.Fatal(cerr)
//	}
//	if err != nil {
//		t.Fatal(err)
//	}
//
// The tests of a workflow file do this by themselves: weft test --record FILE.
//
// # Terms
//
//   - A [Recorder] is one run of one file. Calls find it in their context; without one, and inside
//     of another recorded call, nothing is recorded.
//   - A call has a node, as [graph.Places] names it, a request, and an answer, a result or an
//     error.
//   - A [Difference] is a call that is not as recorded, or is missing, or is left over.
//
// # Guarantees
//
//  1. A call is replayed if one with the same node, name and request is recorded and not used yet,
//     whatever the order of calls in parallel tasks. The fields of [graph.Places] other than the
//     node only choose among calls with the same request.
//  2. The same run gives the same bytes, in the order of steps, nodes and Sends. Calls that one
//     task makes at the same time are in the order in which they begin, which may change.
//  3. A file has no value of [Options.Secrets]. Keys and headers are no part of requests.
//  4. A file is replaced as a whole, after the run. A process that is killed, or another that
//     records at the same time, leaves one whole file. A run that fails leaves the file as it is,
//     unless [Options.Failed] is set.
//  5. A file that is damaged or of an unknown version is a [*FileError] with the line. A value of
//     more than [MaxValue] bytes is a [*LimitError]; the file is not written then.
//
// # Limits
//
// A call that ended with its context, such as by the timeout of its node, waits for that again in a
// replay, for at most a minute of real time.
//
// A tool is replayed as a whole: what it does, also a call of a model, is not recorded. Embedders
// are not recorded. A tool that asks a person by itself, such as one of MCP that elicits, is an
// [*AskError]. A secret that is cut in two, such as by the limit of a result, is not found.
package recording
