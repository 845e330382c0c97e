package redis

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/weftrun/weft/checkpoint"
)

func TestRecord_RoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.Custom(func(t *rapid.T) string { return string(rapid.SliceOfN(rapid.Byte(), 0, 70).Draw(t, "text")) })
		c := checkpoint.Commit{
			ID: text.Draw(t, "id"), Header: rapid.SliceOf(rapid.Byte()).Draw(t, "header"),
			Labels: rapid.MapOfN(text, text, 0, 3).Draw(t, "labels"),
			Refs: rapid.SliceOfN(rapid.Custom(func(t *rapid.T) checkpoint.Ref {
				return checkpoint.Ref{Field: text.Draw(t, "field"), Base: rapid.Uint64().Draw(t, "base"), Chunks: rapid.IntMin(0).Draw(t, "chunks")}
			}), 0, 4).Draw(t, "refs"),
		}
		var snap checkpoint.Snapshot
		err := decodeRecord(&snap, string(encodeRecord([]byte("\n2345678"), &c)))
		if err != nil || snap.ID != c.ID || !slices.Equal(snap.Refs, c.Refs) || !slices.Equal(snap.Header, c.Header) || !maps.Equal(snap.Labels, c.Labels) {
			t.Fatalf("rule: a commit comes back as it was\n got: %+v, error %v\nwant: %+v", snap, err, c)
		}
	})
}

func whole() []byte {
	return encodeRecord([]byte("12345678"), &checkpoint.Commit{
		ID: "id", Header: []byte("header"), Labels: map[string]string{"k": "v"},
		Refs: []checkpoint.Ref{{Field: "messages", Base: 3, Chunks: 300}, {Field: "a b", Base: 1 << 60}},
	})
}

// Requirement: stored bytes are damaged
func TestRecord_DamagedIsRefused(t *testing.T) {
	for i := range len(whole()) * 8 {
		b := whole()
		b[i/8] ^= 1 << (i % 8)
		if err := decodeRecord(new(checkpoint.Snapshot), string(b)); err == nil {
			t.Errorf("rule: a flipped bit is noticed\n got: no error for bit %d", i)
		}
	}
	for n := range whole() {
		if err := decodeRecord(new(checkpoint.Snapshot), string(whole()[:n])); err == nil {
			t.Errorf("rule: a cut is noticed\n got: no error for %d bytes", n)
		}
	}
}

// Requirement: stored bytes are damaged
func FuzzDecodeRecord(f *testing.F) {
	f.Add(whole())
	f.Add([]byte("12345678a/1/2,b/3/4\n\xff\xff\xff\xff\x0f"))
	f.Fuzz(func(t *testing.T, b []byte) {
		decodeRecord(new(checkpoint.Snapshot), string(b))
		d := decoder{rest: b}
		var snap checkpoint.Snapshot
		d.refs(&snap, string(b))
		d.labels(&snap)
	})
}

// Requirement: hostile names
func TestNames_AreInjective(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.OneOf(rapid.StringMatching(`[a-z~/{}:.]{0,5}`), rapid.String(), rapid.StringMatching(`[a-z]{62,66}`))
		a, b := name.Draw(t, "a"), name.Draw(t, "b")
		if (encode(a) == encode(b)) != (a == b) {
			t.Fatalf("rule: two names never share a key\n got: %q for %q and %q", encode(a), a, b)
		}
		if len(encode(a)) > maxReadable || !readable(encode(a)) && encode(a)[0] != '~' {
			t.Fatalf("rule: a key is short and has no signs that mean something\n got: %q", encode(a))
		}
		task, slot, ok := splitEntryName(entryName(a, b))
		if !ok || task != a || slot != b {
			t.Fatalf("rule: an entry's name can be taken apart\n got: %q and %q\nwant: %q and %q", task, slot, a, b)
		}
	})
}

func FuzzSplitEntryName(f *testing.F) {
	f.Add("3:abcd")
	f.Add("-1:a")
	f.Fuzz(func(t *testing.T, name string) { splitEntryName(name) })
}

func TestPipelines_ShareTrips(t *testing.T) {
	var l pipeline
	runners := 0
	for range 3 * batchCalls {
		if l.add(newJob("", 100)) {
			runners++
		}
	}
	if runners != inFlight {
		t.Errorf("rule: a pipeline has a few batches under way at once\n got: %d\nwant: %d", runners, inFlight)
	}
	if l.claim() {
		t.Error("rule: no caller overtakes the jobs that wait")
	}
	first := l.take()
	big, after := newJob("", 2*batchBytes), newJob("", 1)
	l.waiting = []*job{big, after}
	alone := l.take()
	if len(first) != batchCalls || len(alone) != 1 || alone[0] != big {
		t.Errorf("rule: a pipeline is bounded\n got: %d calls, and %d with a big one", len(first), len(alone))
	}
	if !l.withdraw(after) || l.withdraw(after) || l.withdraw(big) {
		t.Error("rule: what waits can be taken back, once; what was sent cannot")
	}
	for range inFlight {
		l.take()
	}
	if l.running != 0 {
		t.Errorf("rule: who finds nothing leaves\n got: %d runners", l.running)
	}
	if !l.claim() || l.leave(2*ownDeadline, true) || l.claim() {
		t.Error("rule: callers do not send to a slow server themselves")
	}
}
