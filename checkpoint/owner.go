package checkpoint

import (
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
)

// The name of an owner ends with a list in brackets that tells processes apart: the
// host, the boot of its kernel, the space of process numbers (a container has its own),
// the number of the process, when it started, and a word that no other lease has.
//
//	ann [laptop 0c5b4c0e-… 4026531836 4711 8712345 QK3…]
//
// What a system cannot tell is "-"; then nobody takes such a process for dead.

// process says which process this is, in the eyes of one system.
type process struct {
	boot, space, start string
	pid                int
}

func ownerName(owner string) string {
	host, _ := os.Hostname()
	p := thisProcess()
	name := fmt.Sprintf("[%s %s %s %d %s %s]", hostWord(host), word(p.boot), word(p.space), p.pid, word(p.start), NewFence())
	return strings.TrimSpace(owner + " " + name)
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

// ownerIsGone reports whether a name is that of a process which ran on this machine,
// since it was last started, and does not run any more. When in doubt it says no: then
// the lease only runs out.
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
