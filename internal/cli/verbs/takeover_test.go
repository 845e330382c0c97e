//go:build unix

package verbs_test

import (
	"strings"
	"testing"
	"time"
)

// lasting has a question that expires at once, and then a node that reports and does not end.
var lasting = strings.NewReplacer("overdue", "lasting", "go:work", "go:wait").Replace(overdue)

// One of two wakers is killed while it runs what was due. The log has how soon the other goes on.
func TestWake_TakesOverFromAKilledProcess(t *testing.T) {
	t.Parallel()
	for name, address := range durableStores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			store := address(t, p)
			p.write("lasting.yaml", lasting)
			pipe, began := p.pipe("pipe")
			p.must(4, "run", p.path("lasting.yaml"), "--thread", "t", "--store", store, "--input", "worklog="+pipe)
			waker := func() *daemon {
				d := &daemon{T: t, cmd: p.command("wake", p.path("lasting.yaml"), "--store", store)}
				d.heard = p.listen(d.cmd)
				if err := d.cmd.Start(); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(d.kill)
				d.heard.await("weft: waits for threads whose time comes; a signal ends it")
				return d
			}
			first := waker()
			receive(t, began(), "began\n")
			waker()
			first.kill()
			killed := time.Now()
			receive(t, began(), "began\n")
			took := time.Since(killed)
			t.Logf("the other process goes on %v after the kill", took.Round(time.Millisecond))
			if took > 30*time.Second {
				t.Errorf("rule: another process takes over within seconds; it took %v", took)
			}
		})
	}
}
