//go:build !race

package racescale

// Raced reports whether the race detector is on.
const Raced = false
