// Package reports prints what commands return: tables, JSON, JUnit, SARIF, errors, and the views of runs.
package reports
