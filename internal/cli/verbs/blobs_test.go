package verbs_test

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestBlobs_LargeFieldIsBesideTheThread runs a workflow with a field of 700 KB, which is stored
// beside the thread, reads it, exports it and collects it.
func TestBlobs_LargeFieldIsBesideTheThread(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("w.yaml", chooser)
	store, other := "sqlite:"+p.path("t.db"), "sqlite:"+p.path("other.db")
	raw := make([]byte, 350_000)
	rand.NewChaCha8([32]byte{}).Read(raw)
	topic := hex.EncodeToString(raw)
	p.write("topic.txt", topic)
	p.must(0, "run", "w.yaml", "--thread", "t", "--input", "topic=@topic.txt", "--store", store, "--blobs", "store")
	list := p.must(0, "blobs", "--store", store).stdout
	if !strings.HasPrefix(list, "thread t: 2 blobs of ") {
		t.Errorf("rule: the topic and the text are blobs\n got: %q", list)
	}
	var first struct {
		Thread string
		Blobs  int
		Bytes  int64
	}
	decode(t, p.must(0, "blobs", "--store", store, "--json"), &first)
	if first.Thread != "t" || first.Blobs != 2 || first.Bytes < 512<<10 {
		t.Errorf("got %+v", first)
	}
	if e := p.must(1, "state", "--thread", "t", "--store", store); !strings.Contains(e.stderr, "without its blobs") {
		t.Errorf("rule: a thread that is read without its blobs is an error\n got: %q", e.stderr)
	}
	if out := p.must(0, "state", "--thread", "t", "--store", store, "--blobs", "store", "--json").stdout; !strings.Contains(out, topic) {
		t.Error("rule: a thread that is read with its blobs has its fields")
	}
	file := p.must(0, "export", "--thread", "t", "--store", store, "--blobs", "store").stdout
	p.write("t.weft", file)
	p.must(0, "import", "t.weft", "--store", other, "--blobs", "folder:"+p.path("files"))
	if out := p.must(0, "state", "--thread", "t", "--store", other, "--blobs", "folder:"+p.path("files"), "--json").stdout; !strings.Contains(out, topic) {
		t.Error("rule: an imported thread has its fields")
	}
	p.must(0, "delete", "t", "--yes", "--store", store, "--blobs", "store")
	expect(t, "a deleted thread has no blobs", p.must(0, "blobs", "--store", store).stdout, "")
	p.must(0, "delete", "t", "--yes", "--store", other)
	for _, age := range []string{"24h", "1ns"} {
		out := p.must(0, "blobs", "--collect", "--grace", age, "--store", other, "--blobs", "folder:"+p.path("files")).stdout
		if want := fmt.Sprintf("removed %d blobs", map[string]int{"24h": 0, "1ns": 2}[age]); !strings.HasPrefix(out, want) {
			t.Errorf("rule: a collection with a grace of %s prints %q\n got: %q", age, want, out)
		}
	}
}
