//go:build !unix

package subprocess

import (
	"errors"
	"os"
	"os/exec"
)

// start refuses: the processes that a program starts could not be ended with it.
func start(*exec.Cmd) error {
	return errors.New("programs can be started on Linux, macOS and other systems of the Unix family only")
}

const killsBeforeWait = false

func untilExit(*os.Process) {}

func killGroup(p *os.Process) { _ = p.Kill() }

func unwatch(*os.Process) {}
