//go:build !race

package pace

// Raced reports whether the race detector is on.
const Raced = false
