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

// thisProcess returns which process this is. It asks the system once, and again in a process that
// was forked from one that has asked.
func thisProcess() process { return known.get(os.Getpid(), readProcess) }

// known is what thisProcess has read.
var known processCache

// processCache holds what was read of the process until the process is forked. A process never
// moves to another space of process numbers, and a child may have the number of its parent in a space
// of its own: so a new number does not tell every fork, and a page of memory does that the kernel
// clears in the child.
type processCache struct {
	mu   sync.Mutex
	page []byte // 1 in the process that has read; nil until then
	read process
	fail bool // there is no such page: nothing is kept
}

// wipeOnFork is the advice MADV_WIPEONFORK of madvise(2), which Linux has from 4.14 on.
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

// forkPage returns a page of zeros that is zeros again in a process that is forked from this one.
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
