// Package verbs is the command line: one file for each verb, over a workflow file and
// a store of threads.
//
//	weft run FILE --thread demo --input topic=go
//	weft resume --thread demo --answer true
//
// [Main] runs one command and returns its exit code. A [Config] names the workflows and stores of
// a program, so a program with its own nodes gets the same commands under its own name. Package
// weftcli exports this package. It imports no clients of servers: Config.Stores opens stores by
// scheme, so a program contains only the clients that it names.
//
// The command line guarantees:
//
//  1. The same command again continues: after kill -9, after a pause, and after the end.
//     Stored work never runs twice. A turn starts twice only with --new-turn.
//  2. Results go to stdout and everything else to stderr. With --json both contain only JSON.
//  3. The exit code is 0 for done, 1 for failed, 2 for wrong usage, and 3 for an invalid
//     workflow. It is 4 if the thread waits for an answer, 5 if another process works on the
//     thread, and 130 after a signal.
//  4. Every error is one line that names the problem. In most cases a second line names the next
//     command. A panic is reported as a bug.
//  5. A command that fails before it runs leaves the thread unchanged.
//  6. The first signal lets a run finish its step. The second stops it at once.
//  7. A password in the address of a store is never printed.
//
// The package does not run graphs, store threads or read workflows. Packages graph, checkpoint and
// workflow do.
package verbs
