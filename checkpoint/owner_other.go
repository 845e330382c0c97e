//go:build !linux

package checkpoint

import "os"

// thisProcess returns a PID only: on this system no process is considered dead.
func thisProcess() process { return process{pid: os.Getpid()} }

func isGone(int, string) bool { return false }
