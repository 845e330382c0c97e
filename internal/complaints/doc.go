// Package complaints is how the rules of a suite complain, in one form, and how the tests of the suite itself run them on what
// should break them: what a rule says is recorded there instead of failing the test.
package complaints
