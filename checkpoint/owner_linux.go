package checkpoint

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

func thisProcess() process {
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	space, _ := os.Readlink("/proc/self/ns/pid") // pid:[4026531836]
	_, start, _ := stat(os.Getpid())
	return process{
		boot: strings.TrimSpace(string(boot)), start: start, pid: os.Getpid(),
		space: strings.TrimSuffix(strings.TrimPrefix(space, "pid:["), "]"),
	}
}

// isGone reports whether the process with a number that started at a time is no more. A
// process that has ended and that nobody has waited for yet is no more.
func isGone(pid int, start string) bool {
	state, since, err := stat(pid)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ESRCH):
		// The directory may be hidden from us (hidepid); the kernel knows better.
		return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
	case err != nil:
		return false
	}
	return since != start || state == "Z" && threads(pid) <= 1
}

// stat returns the state of a process, and when it started, in ticks since the boot.
func stat(pid int) (state, start string, err error) {
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return "", "", err
	}
	// 4711 (name) S 1 …: the name may have any characters, spaces and brackets too
	f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
	if len(f) < 20 {
		return "", "", errors.New("checkpoint: /proc has an unknown form")
	}
	return f[0], f[19], nil
}

// threads counts the threads of a process: one whose first has ended may have others.
func threads(pid int) int {
	list, _ := os.ReadDir(filepath.Join("/proc", strconv.Itoa(pid), "task"))
	return len(list)
}
