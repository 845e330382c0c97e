//go:build unix

package verbs_test

import (
	"os"
	"testing"

	"github.com/tidwall/gjson"
)

func TestDev_Demo(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	d := p.start("dev", "--demo", "--json", "--listen", "127.0.0.1:0")
	if got := gjson.Get(d.first, "graphs").String(); got != `["assistant","report"]` {
		t.Errorf("dev --demo serves %s", got)
	}
	d.signal(os.Interrupt)
	if code := d.wait(); code != 0 {
		t.Errorf("exit code %d\n%s", code, d.heard.rest())
	}
	if e := p.run("dev", "--demo", "w.yaml"); e.code != 2 {
		t.Errorf("with a file: exit code %d, want 2\n%s", e.code, e.stderr)
	}
}
