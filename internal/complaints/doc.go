// Package complaints runs the rules of a suite on what should break them, for the tests of the suite itself: what a rule
// says is recorded instead of failing the test.
package complaints
