package subprocess

import (
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
)

// guardScript reads "+ GROUP" when a group has started and "- GROUP" when it has ended. At the end
// of its input, which is the end of this process, it kills the groups that are left.
const guardScript = `groups=
while read -r change group; do
	case $change in
	+) groups="$groups $group" ;;
	*)
		left=
		for g in $groups; do [ "$g" = "$group" ] || left="$left $g"; done
		groups=$left
		;;
	esac
done
for g in $groups; do kill -s KILL -- "-$g"; done
`

// guard returns the input of a shell that runs guardScript, or nil if there is no shell. The shell
// starts with the first program, in a group of its own, and ends with this process.
var guard = sync.OnceValue(func() *os.File {
	out, in, err := os.Pipe()
	if err != nil {
		return nil
	}
	defer out.Close()
	shell := exec.Command("/bin/sh", "-c", guardScript)
	shell.Dir, shell.Env, shell.Stdin = "/", []string{}, out
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if shell.Start() != nil {
		_ = in.Close()
		return nil
	}
	_ = shell.Process.Release() // it outlives this process
	return in
})

// watch makes the guard kill the group of a program when this process ends. The kernel kills the
// program itself in any case. Only what a program has started is left, where this process is killed
// after the start of the program and before watch.
func watch(p *os.Process) { writeGuard("+", p) }

// unwatch ends watch. The program must not have been waited for, so that its group has its id.
func unwatch(p *os.Process) { writeGuard("-", p) }

func writeGuard(change string, p *os.Process) {
	if in := guard(); in != nil {
		_, _ = fmt.Fprintf(in, "%s %d\n", change, p.Pid) // one write, which is atomic
	}
}
