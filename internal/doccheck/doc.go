// Package doccheck checks by its tests what is written in the repository.
//
//   - A comment of a test that has a line "Requirement: WORDS" says that the test checks a requirement of
//     requirements.txt. docs/traceability.md is the table of both; go test ./internal/doccheck -update writes it.
//   - Comments, names, errors and documents use the standard terms, and their lines and sentences are short: see prose.go.
//   - Names of tests and of Go declarations in documents exist, every test runs in CI, and no file holds a path
//     or a host of one machine.
package doccheck
