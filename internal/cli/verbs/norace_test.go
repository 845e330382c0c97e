//go:build !race

package verbs_test

// makeProgram takes the binary that is there.
func makeProgram(to string) error { return copySelf(to) }
