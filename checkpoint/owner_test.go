package checkpoint

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestOwners_ThatAreGone(t *testing.T) {
	me := thisProcess()
	if me.start == "" {
		t.Log("on this system no process is considered dead")
		return
	}
	host, _ := os.Hostname()
	name := func(host string, p process) string {
		return fmt.Sprintf("ann [%s %s %s %d %s WORD]", hostWord(host), word(p.boot), word(p.space), p.pid, word(p.start))
	}
	with := func(change func(*process)) process {
		p := me
		change(&p)
		return p
	}
	never := with(func(p *process) { p.pid = 1 << 30 })
	for _, c := range []struct {
		what, owner string
		gone        bool
	}{
		{"this process", ownerName("ann"), false},
		{"this process without words", ownerName(""), false},
		{"this process, by its parts", name(host, me), false},
		{"a process that is not there", name(host, never), true},
		{"the number of this process, at another time", name(host, with(func(p *process) { p.start = "1" })), true},
		{"a process of another host", name(host+"x", never), false},
		{"a process before the last boot", name(host, with(func(p *process) { p.pid, p.boot = 1<<30, "other" })), false},
		{"a process of another container", name(host, with(func(p *process) { p.pid, p.space = 1<<30, "1" })), false},
		{"a process of an unknown boot", name(host, with(func(p *process) { p.pid, p.boot = 1<<30, "" })), false},
		{"a process of an unknown container", name(host, with(func(p *process) { p.pid, p.space = 1<<30, "" })), false},
		{"a process that began at an unknown time", name(host, with(func(p *process) { p.pid, p.start = 1<<30, "" })), false},
		{"a process without a number", strings.Replace(name(host, never), fmt.Sprint(never.pid), "x", 1), false},
		{"a negative number", strings.Replace(name(host, never), fmt.Sprint(never.pid), "-1", 1), false},
		{"no process at all", "ann", false},
		{"nothing", "", false},
		{"too little", "ann [" + host + "]", false},
		{"no end", strings.TrimSuffix(name(host, never), "]"), false},
	} {
		if got := ownerIsGone(c.owner); got != c.gone {
			t.Errorf("rule: only what is surely dead is gone: %s\n got: gone %v for %q\nwant: %v", c.what, got, c.owner, c.gone)
		}
	}
	if n := len(ownerName(strings.Repeat("x", maxHoldOwner))); n > MaxOwner {
		t.Errorf("rule: a name fits into a lease\n got: %d bytes\nwant: at most %d", n, MaxOwner)
	}
}
