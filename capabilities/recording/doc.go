// Package recording stores the calls that a test makes outside of its process, and replays them
// later: without a network and a key.
//
//	m := recording.Model("writer", provider)    // any model.Model
//	set = recording.Tools(set)                  // any *tool.Set
//	e := recording.Embedder("small", provider2) // any model.Embedder
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
// [HTTP], [Exec], [Capabilities] and [Function] do it with requests to servers, programs, the
// capabilities of an agent and any other function. The tests of a workflow file do all of this by
// themselves: weft test --record FILE.
//
// # Terms
//
//   - A [Recorder] is one run of one file. Calls find it in their context; without one, and inside
//     of another recorded call, nothing is recorded.
//   - A call has a node, as [graph.Places] names it, a request, and an outcome: an answer, a
//     result, a response, an output, vectors or an error.
//   - A [Difference] is a call that is not as recorded, or is missing, or is left over.
//
// # Guarantees
//
//  1. A call is replayed if one with the same node, name and request is recorded and not used yet,
//     whatever the order of calls in parallel tasks. The fields of [graph.Places] other than the
//     node only choose among calls with the same request.
//  2. The same run gives the same bytes, in the order of steps, nodes and Sends. Calls that one
//     task makes at the same time are in the order in which they begin, which may change. A run
//     that makes no new calls keeps the order of the file.
//  3. A file has no value of [Options.Secrets]. The keys of models and the passwords of URLs are
//     no part of requests. All but models and tools return what the file has also while they
//     record.
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
// A tool is replayed as a whole: what it does, also a call of a model, is not recorded. A tool that
// asks a person by itself, such as one of MCP that elicits, is an [*AskError]. A secret that is cut
// in two, such as by the limit of a result, is not found.
package recording
