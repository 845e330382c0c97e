// Package mutation has no code, only mutation tests of the stores. In every store, the test removes
// one line at a time: the comparison of the head, the comparison of the fence, and the check for a
// repeated commit. The tests of the store must then fail. This finds tests that can no longer fail.
// The test also removes the lines that make a decision of a person count once.
package mutation
