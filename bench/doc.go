// Command bench measures the same work on Weft, on plain Go, on eino, and on LangGraph in
// JavaScript and Python. It prints one Markdown table of medians, spreads, allocations, bytes,
// bytes written to stores, peak memory, and ratios. Two more parts follow: early and late steps of
// long runs, and the budget with the measured value of each line.
//
//	go -C bench run . [-short] [-plain] [-run REGEXP]
//		[-rounds N] [-each 100ms] [-most 4s] [-out FILE]
//
// Each workload checks its result. A wrong result is reported as wrong, not as a time, and the
// command ends with exit code 1. Slow times and an exceeded budget do not change the exit code.
//
// The runners of a workload alternate, round after round, so that a busy period of the machine
// slows all of them: the ratios are more reliable than the times. A runner that has used -most for
// a workload takes no more samples. The column of spreads has the number of samples.
//
// # Servers and other languages
//
// If their programs are installed, the command starts Redis, with an append-only file that is
// synced every second, and PostgreSQL, with its defaults including fsync. -redis and -postgres name
// other servers, whose threads are deleted at the end. SQLite is a file in the temporary folder.
// LangGraph.js, and its server beside that of Weft with -serve, require
//
//	npm ci --prefix bench/langgraph
//
// and LangGraph in Python, for the workloads of bench.py, requires
//
//	cd bench/langgraph && python3 -m venv .venv && .venv/bin/pip install -r requirements.txt
//
// The line above the table names the runners that are not installed, which are omitted. LangGraph's
// saver for Redis is not a runner, because it requires modules (RedisJSON, RediSearch) that a plain
// server does not have.
//
// # Comparisons
//
//   - A step of Weft with a store is compared with a plain write of as many bytes to the same
//     server or disk.
//   - The workloads of LangGraph's own suite (sequential, fanout_to_subgraph, react_agent,
//     wide_state, wide_dict) are rewritten for each runner. react_agent is LangGraph's prebuilt
//     agent, and in Weft two nodes on a message.Log. In Weft wide_state is a struct, and wide_dict
//     a record.Record, the state of graphs in YAML.
//   - LangGraph and eino copy or share the values that nodes read by their own rules. Runners are
//     only tuned by their documented settings.
package main
