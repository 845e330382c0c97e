package verbs_test

import "golang.org/x/sys/unix"

// maxrssUnit is in what the system counts memory, in bytes.
const maxrssUnit = 1024

// The requests that read and write the mode of a terminal.
const (
	getMode = unix.TCGETS
	setMode = unix.TCSETS
)
