package checkpoint

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// thisProcess returns the identity of this process. It reads it once, and again in a forked child.
func thisProcess() process { return known.get(os.Getpid(), readProcess) }

// known caches the identity for thisProcess.
var known processCache

// processCache caches the identity of the process until the process is forked. The PID alone does
// not detect every fork: a child in a new PID namespace may have the PID of its parent. So the
// cache has a page of memory that the kernel clears in a child.
type processCache struct {
	mu   sync.Mutex
	page []byte // 1 in the process that has read; nil until then
	read process
	fail bool // the system has no such page: cache nothing
}

// wipeOnFork is the advice MADV_WIPEONFORK of madvise(2), since Linux 4.14.
const wipeOnFork = 18

func (c *processCache) get(pid int, read func() process) process {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.page == nil && !c.fail {
		c.page, c.fail = forkPage()
	}
	if c.fail {
		return read()
	}
	if c.page[0] != 1 || c.read.pid != pid {
		c.read, c.page[0] = read(), 1
	}
	return c.read
}

// forkPage returns a page of zeros, which the kernel clears in a forked child.
func forkPage() (page []byte, fail bool) {
	page, err := syscall.Mmap(-1, 0, os.Getpagesize(), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err == nil {
		err = syscall.Madvise(page, wipeOnFork)
	}
	return page, err != nil
}

func readProcess() process {
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	space, _ := os.Readlink("/proc/self/ns/pid") // pid:[4026531836]
	_, start, _ := stat(os.Getpid())
	return process{
		boot: strings.TrimSpace(string(boot)), start: start, pid: os.Getpid(),
		space: strings.TrimSuffix(strings.TrimPrefix(space, "pid:["), "]"),
	}
}

// isGone reports whether the process with this PID and start time has ended. A zombie has ended.
func isGone(pid int, start string) bool {
	state, since, err := stat(pid)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ESRCH):
		// The directory may be hidden (mount option hidepid); ask the kernel.
		return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
	case err != nil:
		return false
	}
	return since != start || state == "Z" && threads(pid) <= 1
}

// stat returns the state of a process and its start time in ticks since the boot.
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

// threads counts the threads of a process. Others may run after the first has ended.
func threads(pid int) int {
	list, _ := os.ReadDir(filepath.Join("/proc", strconv.Itoa(pid), "task"))
	return len(list)
}
