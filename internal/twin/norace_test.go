//go:build !race

package twin

const raced = false
