//go:build !linux

package checkpoint

import "os"

// thisProcess has only a number: on this system nobody takes a process for dead.
func thisProcess() process { return process{pid: os.Getpid()} }

func isGone(int, string) bool { return false }
