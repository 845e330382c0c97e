package storetest

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
)

// DiskSize is the size of a small disk at first, in bytes.
const DiskSize = 2 << 20

// Disk is a folder that is soon full.
type Disk struct {
	Dir string
	// Real is false when only the size of each file is limited, for this process and
	// those that it starts: a write then fails with EFBIG instead of ENOSPC.
	Real bool
}

// inside is set in the environment of the process that has the disk.
const inside = "WEFT_TEST_SMALL_DISK"

// RunOnSmallDisk runs the test again in a new process, and calls f there with a small disk. The
// disk is a file system in memory that only this process sees. If the system does not allow that,
// the size of files is limited instead.
func RunOnSmallDisk(t *testing.T, f func(t *testing.T, d Disk)) {
	t.Helper()
	if os.Getenv(inside) != "" {
		d := Disk{Dir: os.Getenv(inside)}
		d.Real = syscall.Mount("none", d.Dir, "tmpfs", 0, fmt.Sprint("size=", DiskSize)) == nil
		if !d.Real {
			signal.Ignore(syscall.SIGXFSZ)
			d.limit(t, DiskSize)
		}
		t.Logf("a full file system: %t; else a limit of the size of files", d.Real)
		f(t, d)
		return
	}
	out, err := again(t, &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWNS | syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	})
	if _, ran := err.(*exec.ExitError); err != nil && !ran {
		out, err = again(t, nil) // no such process may be started
	}
	if t.Logf("%s", out); err != nil {
		t.Error(err)
	}
}

// again runs the test in another process.
func again(t *testing.T, attr *syscall.SysProcAttr) ([]byte, error) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe, "-test.run", "^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), inside+"="+t.TempDir())
	cmd.SysProcAttr = attr
	return cmd.CombinedOutput()
}

// Grow makes room, for this process and those that it starts from now on; a real disk
// grows for all.
func (d Disk) Grow(t *testing.T) {
	t.Helper()
	if !d.Real {
		d.limit(t, 1<<30)
	} else if err := syscall.Mount("none", d.Dir, "tmpfs", syscall.MS_REMOUNT, fmt.Sprint("size=", 16*DiskSize)); err != nil {
		t.Fatal(err)
	}
}

func (d Disk) limit(t *testing.T, bytes uint64) {
	t.Helper()
	var l syscall.Rlimit
	err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &l)
	if l.Cur = min(bytes, l.Max); err == nil {
		err = syscall.Setrlimit(syscall.RLIMIT_FSIZE, &l)
	}
	if err != nil {
		t.Fatal(err)
	}
}
