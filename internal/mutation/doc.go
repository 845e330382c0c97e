// Package mutation holds no code, only the test that breaks the stores on purpose: it takes away the line that compares
// the head, the line that compares the fence, and the line that knows a commit again, one at a time and in every store,
// and the tests of that store must fail. So a test that can no longer fail is found. The same is done to the lines that
// let a decision of a person count once.
package mutation
