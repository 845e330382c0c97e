//go:build race

package twin

const raced = true
