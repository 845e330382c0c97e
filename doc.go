// Package weft documents the module github.com/weftrun/weft, a durable graph runtime for agents.
// It declares nothing: a program imports the packages below.
//
// A graph has nodes over a typed state. A run executes the graph in supersteps and commits each
// step to a store. It pauses for people, survives a crash, and continues in any process that
// opens the same store. The example declares such a graph.
//
// # Packages
//
//   - graph declares, compiles and runs graphs.
//   - state has the types of fields. Each type determines how concurrent writes are merged.
//   - graph/workflow reads graphs from YAML files.
//   - checkpoint is the port of stores and the store in memory. checkpoint/sqlite,
//     checkpoint/redis and checkpoint/postgres are the stores on disk and on servers.
//   - conversation stores messages, sessions and tasks between agents.
//   - capabilities declares what an agent can do, with clients of models and with tools.
//   - nodes has ready kinds of nodes. nodes/turn, nodes/react and nodes/pes are agents.
//   - weftcli is the command line as a library, and cmd/weft the command.
//
// The folder docs of the module has the semantics, the language of workflow files, the command
// line and the operation of stores. The folder examples has complete programs.
package weft
