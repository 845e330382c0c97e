//go:build !race

package cli_test

// makeProgram takes the binary that is there.
func makeProgram(to string) error { return copySelf(to) }
