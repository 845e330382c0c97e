//go:build unix

package verbs_test

import (
	"strings"
	"testing"

	"github.com/weftrun/weft/internal/servertest"
)

// Threads of servers are checked, pinned and verified like those of a file.
func TestPin_OnServers(t *testing.T) {
	t.Parallel()
	const flow = `version: 1
name: flow
state: {said: string}
output: [said]
nodes:
  ask: {ask: {title: Sure, answer: string}, output: {said: "${{ result }}"}, next: END}
`
	for name, address := range map[string]func() string{
		"redis":    func() string { return servertest.Redis(t) },
		"postgres": func() string { return servertest.Postgres(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, store := newPlace(t), address()
			p.write("flow.yaml", flow)
			p.write("more.yaml", strings.Replace(flow, "next: END}", "next: more}\n  more: {set: {said: changed}, next: END}", 1))
			p.must(4, "run", p.path("flow.yaml"), "--thread", "t", "--store", store, "--hashes")
			if e := p.must(0, "check", p.path("more.yaml"), "--store", store, "--json"); !strings.Contains(e.stdout, `"outcome":"fits"`) {
				t.Errorf("check: got %s", e.stdout)
			}
			p.must(0, "pin", "t", "--store", store)
			if e := p.must(1, "check", p.path("more.yaml"), "--store", store, "--json"); !strings.Contains(e.stdout, "it is pinned to the program") {
				t.Errorf("check of a pinned thread: got %s", e.stdout)
			}
			if e := p.must(1, "resume", "t", p.path("more.yaml"), "--answer", "yes", "--store", store); !strings.Contains(e.stderr, "pinned to another program") {
				t.Errorf("resume of a pinned thread: got %s", e.stderr)
			}
			p.must(0, "unpin", "t", "--store", store)
			if e := p.must(0, "resume", "t", p.path("more.yaml"), "--answer", "yes", "--store", store); e.stdout != "said: changed\n" {
				t.Errorf("resume: got %s", e.stdout)
			}
			if e := p.must(0, "verify", "t", "--store", store); !strings.Contains(e.stdout, "decisions: 1 with a hash") {
				t.Errorf("verify: got %s", e.stdout)
			}
		})
	}
}
