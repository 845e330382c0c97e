package checkpoint

import (
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
)

// The name of an owner ends with a list in brackets that identifies the process: the host, the
// kernel's boot id, the PID namespace (a container has its own), the PID, the start time, and a
// word that no other lease has.
//
//	ann [laptop 0c5b4c0e-… 4026531836 4711 8712345 QK3…]
//
// An unknown element is "-". A process with an unknown element is never considered dead.

// process identifies a process of one machine.
type process struct {
	boot, space, start string
	pid                int
}

func ownerName(owner string) string {
	return strings.TrimSpace(owner + " [" + processName() + " " + NewFence() + "]")
}

// named has the result of processName for a process.
var named struct {
	sync.Mutex
	process
	name string
}

// processName returns the elements of the list that identify this process. A change of the host's
// name has no effect on it.
func processName() string {
	p := thisProcess()
	named.Lock()
	defer named.Unlock()
	if named.name == "" || named.process != p {
		host, _ := os.Hostname()
		named.process = p
		named.name = hostWord(host) + " " + word(p.boot) + " " + word(p.space) + " " + strconv.Itoa(p.pid) + " " + word(p.start)
	}
	return named.name
}

// hostWord is a host's name without spaces, not too long.
func hostWord(host string) string {
	w := word(url.QueryEscape(host))
	return w[:min(len(w), 64)]
}

func word(s string) string {
	if s == "" || strings.ContainsAny(s, " []") {
		return "-"
	}
	return s
}

// ownerIsGone reports whether a name is that of a process that ran on this machine since its last
// boot and has ended. It returns false when in doubt: then the lease has to run out.
func ownerIsGone(owner string) bool {
	host, _ := os.Hostname()
	me := thisProcess()
	inner, ok := strings.CutSuffix(owner[strings.LastIndexByte(owner, '[')+1:], "]")
	f := strings.Fields(inner)
	if !ok || len(f) != 6 || f[0] != hostWord(host) || f[1] == "-" || f[1] != word(me.boot) || f[2] == "-" || f[2] != word(me.space) || f[4] == "-" {
		return false
	}
	pid, err := strconv.Atoi(f[3])
	return err == nil && pid > 0 && isGone(pid, f[4])
}
