// Package verbs is the command line: one file for each verb, over a workflow file and
// a store of threads.
//
//	weft run FILE --thread demo --input topic=go
//	weft resume --thread demo --answer true
//
// [Main] runs one command and returns its exit code. A [Config] says which workflows
// and stores there are, so a program with nodes of its own gets the same commands
// under its own name; package weftcli exports that. Clients of servers are not
// imported here: they come in with Config.Stores, by scheme, so that a program holds only
// those that it names.
//
// Its duties:
//
//  1. The same command again goes on: after kill -9, after a pause, after the end.
//     Work that was stored is never done twice, and a turn is never started twice
//     unless --new-turn says so.
//  2. Results go to stdout and everything else to stderr. With --json both carry
//     JSON and nothing else.
//  3. The exit code tells what happened: 0 done, 1 failed, 2 wrong usage, 3 invalid
//     workflow, 4 waiting for a person, 5 another process works on the thread, 130
//     stopped by a signal.
//  4. Every error is one line that says what is wrong, and mostly another that says
//     what to do next. A panic is reported as a bug.
//  5. A command that cannot be carried out leaves the thread as it was.
//  6. The first signal lets a run finish its step, the second stops it at once.
//  7. A password in the address of a store is never printed.
//
// It does not run graphs, keep threads or read workflows: it asks packages graph,
// checkpoint and workflow to.
package verbs
