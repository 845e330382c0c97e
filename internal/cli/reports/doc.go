// Package reports prints the results of commands: tables, JSON, JUnit, SARIF, errors, and the
// progress of runs.
package reports
