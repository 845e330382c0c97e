//go:build unix && !linux

package cli_test

// maxrssUnit is in what the system counts memory, in bytes.
const maxrssUnit = 1
