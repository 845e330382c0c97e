// Package testreport formats the failures of conformance suites. The tests of a suite also use it
// to record the failures of broken implementations, which must not fail the test itself.
package testreport
