// Command bench measures the same work on Weft, on plain Go written by hand, and on other graph runtimes, in one
// run, and prints a Markdown table with ratios.
//
//	go run . [-short] [-run REGEXP] [-rounds N] [-out FILE]
//
// Each workload checks its result. A result that is wrong is reported as wrong, never as fast, and the command
// ends with exit code 1; no time ever makes it fail.
//
// The runners of a workload take turns, round after round, so that a machine that is busy for a while is busy for
// all of them. The table has medians, and the spread between the quarters.
package main
