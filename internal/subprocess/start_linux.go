package subprocess

import (
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// starts are programs to start. One goroutine starts all of them, because Linux kills a program
// when the thread that has started it ends.
var (
	starts      = make(chan func())
	startThread = sync.OnceFunc(func() { go startAll() })
)

// startAll runs starts on a thread that does not end.
func startAll() {
	runtime.LockOSThread()
	for start := range starts {
		start()
	}
}

// start starts a program in a process group of its own, which ends with this process.
func start(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	startThread()
	result := make(chan error)
	guard() // before the program, so that no program runs without it
	starts <- func() {
		err := cmd.Start()
		if err == nil {
			watch(cmd.Process)
		}
		result <- err
	}
	return <-result
}

// killsBeforeWait reports that untilExit waits, so that a group is killed while its id is its own.
const killsBeforeWait = true

// untilExit waits until the program has ended, and leaves it to be waited for.
func untilExit(p *os.Process) {
	for {
		err := unix.Waitid(unix.P_PID, p.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return
		}
	}
}

// killGroup kills the process group of a program that was not waited for.
func killGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }
