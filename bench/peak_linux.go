package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// peak watches how much memory a process has at most.
type peak struct {
	folder string
	before float64
}

// beginPeak begins to watch a process; 0 is this one.
func beginPeak(pid int) peak {
	p := peak{folder: "/proc/self"}
	if pid != 0 {
		p.folder = fmt.Sprintf("/proc/%d", pid)
	}
	if os.WriteFile(p.folder+"/clear_refs", []byte("5"), 0) != nil { // the peak is what there is now
		return peak{}
	}
	p.before = p.field("VmRSS:")
	return p
}

// end returns by how many bytes the memory has grown at most; 0 if that is not known.
func (p peak) end() float64 {
	if p.folder == "" {
		return 0
	}
	return max(0, p.field("VmHWM:")-p.before)
}

// field returns a number of the process's status, in bytes.
func (p peak) field(name string) float64 {
	status, _ := os.ReadFile(p.folder + "/status")
	_, rest, _ := bytes.Cut(status, []byte(name))
	words := bytes.Fields(rest)
	if len(words) == 0 {
		return 0
	}
	n, _ := strconv.ParseFloat(string(words[0]), 64)
	return n * 1024
}
