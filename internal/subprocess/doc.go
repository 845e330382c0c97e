// Package subprocess runs programs with a bounded output, and ends them together with the
// processes that they have started.
//
// # Guarantees
//
//  1. At most Limit programs run at once in this process; others wait until their context ends.
//  2. A program gets only the environment that is given.
//  3. When a call ends, for whatever reason, the process group of its program is killed; that of a
//     Program when it is closed.
//  4. On Linux a program is killed when this process ends, even by SIGKILL, and so is its process
//     group if there is a /bin/sh.
//
// A process that has left the group of its program, as daemons do, is not killed.
package subprocess
