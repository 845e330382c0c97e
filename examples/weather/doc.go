// Package weather is report.yaml written in Go: the same graph, the same bytes.
//
// Both read four years of daily weather, work out the years side by side, compose a
// page of Markdown, ask somebody, and write the page after a yes. The file is for
// whoever changes the report, the Go for whoever would rather have a compiler; what
// a run survives is the same. DATA.md says where the numbers come from.
package weather
