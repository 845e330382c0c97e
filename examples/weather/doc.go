// Package weather is report.yaml written in Go: the same graph, the same bytes.
//
// Both read four years of daily weather, compute the years in parallel, compose a page of
// Markdown, ask a person, and write the page if the answer is yes. Both survive the same
// failures. DATA.md names the source of the data.
package weather
