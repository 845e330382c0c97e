package checkpoint

import (
	"os"
	"syscall"
	"testing"
)

func TestOwnerName_AsksTheSystemOnce(t *testing.T) {
	ownerName("ann")
	// A read of one file in /proc takes five allocations; the name itself takes about ten.
	if n := testing.AllocsPerRun(100, func() { ownerName("ann") }); n > 15 {
		t.Errorf("a name takes %v allocations, want at most 15: /proc is read for each", n)
	}
}

func TestProcessCache_ReadsAgainAfterAFork(t *testing.T) {
	var c processCache
	reads := 0
	ask := func(pid int) process {
		return c.get(pid, func() process { reads++; return process{pid: pid} })
	}
	for range 3 {
		ask(7)
	}
	if reads != 1 {
		t.Errorf("three calls in one process read %d times, want once", reads)
	}
	if p := ask(8); reads != 2 || p.pid != 8 {
		t.Errorf("a process with another number read %d times in all and is %d, want 2 and 8", reads, p.pid)
	}
	if c.fail {
		t.Fatal("this kernel has no memory that it clears in a child")
	}
	c.page[0] = 0 // as in a child that has the same number in a space of its own
	if ask(8); reads != 3 {
		t.Errorf("a child with the same number read %d times in all, want 3", reads)
	}
}

// TestForkPage_IsClearedInAChild forks this process without executing a program. The child has a
// copy of the memory without the other threads of the Go runtime. So it only exits, with the first
// byte of the page as its exit code.
func TestForkPage_IsClearedInAChild(t *testing.T) {
	page, fail := forkPage()
	if fail {
		t.Fatal("this kernel has no memory that it clears in a child")
	}
	page[0] = 1
	pid := fork(&page[0])
	if pid <= 0 {
		t.Fatalf("the fork failed: %d", pid)
	}
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &status, 0, nil); err != nil {
		t.Fatal(err)
	}
	if !status.Exited() || status.ExitStatus() != 0 || page[0] != 1 {
		t.Errorf("the child saw %d (%v), the parent sees %d; want 0 and 1", status.ExitStatus(), status, page[0])
	}
}

// fork returns the number of a child that ends with the byte as its exit status.
//
//go:norace
//go:noinline
func fork(b *byte) int {
	pid, _, _ := syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
	if pid == 0 {
		for {
			syscall.RawSyscall(syscall.SYS_EXIT_GROUP, uintptr(*b), 0, 0)
		}
	}
	return int(pid)
}

func BenchmarkOwnerName(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		ownerName("ann")
	}
}

// The name of a process that was read once is that of this process.
func TestThisProcess_IsThisProcess(t *testing.T) {
	if p := thisProcess(); p != readProcess() || p.pid != os.Getpid() {
		t.Errorf("this process is %+v, want %+v", p, readProcess())
	}
}
