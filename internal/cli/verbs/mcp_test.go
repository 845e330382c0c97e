//go:build unix

package verbs_test

import (
	"strings"
	"syscall"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/weftrun/weft/internal/programtest"
	"github.com/weftrun/weft/internal/sdktest"
)

const drafting = `version: 1
name: draft
state:
  topic: {type: string, required: true}
  review: {type: bool, default: false}
  text: string
input: [topic, review]
nodes:
  write:
    set: {text: "about ${{ state.topic }}"}
    next:
      - if: state.review
        to: ask
      - else: END
  ask: {ask: {title: "Publish?", answer: bool}, next: END}
`

// Requirement: Public clients work unmodified
func TestMCP_RunsAndAnswers(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("draft.yaml", drafting)
	sdktest.NodeWith(t, []string{"@modelcontextprotocol/sdk@1.32.2"}, "../../../server/mcp/testdata/client.mjs",
		"env", programtest.Variable, "HOME="+p.dir, program, "mcp", p.path("draft.yaml"), "--store", "sqlite:"+p.path("w.db"))
	// A server on the same store has what the client did.
	d := p.start("serve", "draft.yaml", "--listen", "127.0.0.1:0", "--store", "sqlite:w.db")
	list := d.do("POST", "/threads/search", "{}")
	if got := gjson.Get(list, "0.values.text").String(); got != "about weaving" {
		t.Errorf("the server has the threads %s", list)
	}
}

func TestMCP_EndsWithItsInputOrASignal(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("draft.yaml", drafting)
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}` + "\n"
	for name, end := range map[string]func(d *daemon, in interface{ Close() error }){
		"the end of its input": func(_ *daemon, in interface{ Close() error }) { _ = in.Close() },
		"a signal":             func(d *daemon, _ interface{ Close() error }) { d.signal(syscall.SIGTERM) },
	} {
		cmd := p.command("mcp", "draft.yaml", "--store", "sqlite:w.db")
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		d := p.startCommand(cmd, func() { _, _ = in.Write([]byte(hello)) })
		if !strings.Contains(d.first, `"name":"weft"`) {
			t.Errorf("the first answer is %s", d.first)
		}
		if end(d, in); d.wait() != 0 {
			t.Errorf("after %s the exit code is %d\n%s", name, d.cmd.ProcessState.ExitCode(), d.heard.rest())
		}
	}
}
