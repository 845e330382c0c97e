// Package studio shows graphs and threads in a browser. Pages of HTML with pictures in SVG are
// rendered in Go.
//
// A Handler asks a Source for what it shows. The Source belongs to one request, so it applies the
// rights of its caller. A page is a GET request, and its address selects all that it shows. It can
// be read, and questions answered, without scripts.
//
// # Pages
//
//   - /graphs lists the graphs with the states of their threads, and /graphs/{id} draws one, with
//     its subgraphs down to ?depth=.
//   - /threads lists the threads, by ?status=, ?graph=, ?prefix= of the id and ?state= at a path,
//     from ?offset=. Its form cancels, prunes, deletes and exports those that are selected.
//   - /threads/{id} shows a thread at ?at=, a checkpoint. It has the picture of the run, the steps
//     of the turn and the state. It lists what changed since ?from= or the checkpoint before, with
//     who wrote it, and the history before ?before=.
//   - /threads/{id}/state.json is the state at ?at= as a file.
//   - /threads/{id}/sizes has the stored bytes of each field at each checkpoint.
//   - /store, /assistants, /crons and /system list items, assistants with their versions, scheduled
//     runs, and the server itself. They call the public interface of the server, so its rules hold;
//     see Caller.
//   - /api/ has what the pages show, as JSON: /api/graphs, /api/graphs/{id} and its /picture,
//     /api/threads and, below a thread, /tree, /commits/{n}, /diff, /timeline, /sizes, /api/inbox
//     and /api/system. POST to a thread's /fork, /edit, /rerun and /replay, and to
//     /api/inbox/{thread}/{question}, acts as the forms do. /api/workflow.schema.json is the schema
//     of workflows; POST to /api/workflows/check and /api/complete checks and completes a text.
//     /api/workflows/{path} is a file of the editor with its ETag, and PUT writes it.
//   - /graphs/{id}/run has a form for an input, made of the schema.
//   - /threads/{id}/chat is the conversation of a thread at ?at=, with the messages before
//     ?before=. /graphs/{id}/chat begins one.
//   - /editor lists the workflows, or has a text to check, and /editor/{path} has one with its
//     mistakes and its picture.
//   - /inbox lists the open questions of all threads, by ?graph=, ?to=, ?text= and ?overdue=, from
//     ?offset=, and /inbox/{thread}/{question} has one. The form of each is sent to
//     /threads/{id}/answer.
//
// # Scripts
//
// The files in web are modules and custom elements, served as they are. A thread's page follows
// /threads/{id}/events, which marks the nodes of the picture. When a step is stored, the page is
// fetched again, and the parts of it that differ are replaced. Pages with lists do so at each event
// of /changes. A stream that breaks goes on after its last event.
//
// # What it guarantees
//
//  1. No page loads anything from another origin. The Content-Security-Policy forbids it, and
//     inline styles and scripts.
//  2. No request but a POST of a form changes anything. It must come from a page of the studio, and
//     Config.ReadOnly refuses it.
//  3. Text of graphs, threads and states is escaped by internal/markup and internal/picture.
package studio
