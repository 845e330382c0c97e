//go:build unix && !linux

package subprocess

import (
	"os"
	"os/exec"
	"syscall"
)

// start starts a program in a process group of its own.
func start(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd.Start()
}

const killsBeforeWait = false

func untilExit(*os.Process) {}

// killGroup kills the process group of a program that was not waited for.
func killGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }

func unwatch(*os.Process) {}
