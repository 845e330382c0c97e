// Command bench measures the same work on Weft, on plain Go written by hand, on eino, and on LangGraph in
// JavaScript and Python, in one run, and prints one Markdown table: medians, spreads, allocations, bytes, what a
// store was given, peak memory, and ratios. Then come the two ends of long runs, and the budget with what was
// measured of each line.
//
//	go -C bench run . [-short] [-bare] [-run REGEXP] [-rounds N] [-each 100ms] [-most 4s] [-out FILE]
//
// Each workload checks its result. A result that is wrong is reported as wrong, never as fast, and the command
// ends with exit code 1; no time ever makes it fail, and neither does a budget that is not met.
//
// The runners of a workload take turns, round after round, so that a machine that is busy for a while is busy for
// all of them: trust the ratios more than the times. A runner that has taken -most for a workload gives no more
// samples; the spread says how many there are.
//
// # Servers and other languages
//
// Redis (with an append-only file, on the disk every second) and PostgreSQL (with its defaults, fsync included) are
// started if their programs are there; -redis and -postgres name others instead, and threads are deleted in the end.
// SQLite is a file in the folder for temporary files. LangGraph.js runs after
//
//	npm ci --prefix bench/langgraph
//
// and LangGraph in Python, for the workloads of bench.py, after
//
//	cd bench/langgraph && python3 -m venv .venv && .venv/bin/pip install -r requirements.txt
//
// What is not there is named above the table, and left out. LangGraph's saver for Redis is not among the runners:
// it needs modules (RedisJSON, RediSearch) that a plain server does not have.
//
// # What is compared with what
//
//   - A step of Weft with a store is compared with a bare write of as many bytes to the same server or disk.
//   - The work of LangGraph's own suite (sequential, fanout_to_subgraph, react_agent, wide_state, wide_dict) is
//     written anew for each; react_agent is LangGraph's prebuilt one there, and two nodes on a message.Log here;
//     wide_state is a struct here, and wide_dict a record.Record, the state of graphs in YAML.
//   - LangGraph and eino copy or share what nodes read as they do; no runner is tuned but by its documented settings.
package main
