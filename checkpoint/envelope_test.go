package checkpoint

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"
)

func sealedFor(t testing.TB, at spot, v any) []byte {
	t.Helper()
	b, err := seal(at, v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestUnseal_ReturnsWhatWasSealed(t *testing.T) {
	at := place(Key{"t", "ns"}, "field", 3, 1)
	for _, v := range []string{"", "x", strings.Repeat("long ", 1000)} {
		got, err := unseal(at, sealedFor(t, at, v))
		if err != nil || string(got) != `"`+v+`"` {
			t.Errorf("unseal gives %.40s, %v, want %.40q", got, err, v)
		}
	}
}

// Requirement: a flipped bit in a value is noticed
// Requirement: a stored byte is damaged
func TestUnseal_FlippedBitIsDetected(t *testing.T) {
	at := place(Key{Thread: "t"}, "field", 1, 0)
	good := sealedFor(t, at, map[string]int{"a": 1})
	for i := range len(good) * 8 {
		bad := bytes.Clone(good)
		bad[i/8] ^= 1 << (i % 8)
		if got, err := unseal(at, bad); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("with bit %d flipped unseal gives %q, %v, want ErrCorrupt", i, got, err)
		}
	}
}

func TestUnseal_CutOrGrownValueIsRefused(t *testing.T) {
	at := place(Key{Thread: "t"}, "field", 1, 0)
	good := sealedFor(t, at, "value")
	for n := range good {
		for _, bad := range [][]byte{good[:n], good[n+1:], append(bytes.Clone(good[:n]), good...)} {
			if len(bad) == len(good) {
				continue
			}
			if got, err := unseal(at, bad); !errors.Is(err, ErrCorrupt) {
				t.Fatalf("unseal of %d bytes gives %q, %v, want ErrCorrupt", len(bad), got, err)
			}
		}
	}
	if _, err := unseal(at, nil); !errors.Is(err, ErrCorrupt) {
		t.Errorf("unseal of nothing gives %v", err)
	}
}

func TestUnseal_ValueAtAnotherPlaceIsRefused(t *testing.T) {
	k := Key{"t", "a"}
	good := sealedFor(t, place(k, "b", 1, 2), "value")
	for _, other := range []spot{
		place(Key{"t", ""}, "b", 1, 2), place(Key{"s", "a"}, "b", 1, 2), place(Key{"", "a"}, "b", 1, 2),
		place(k, "c", 1, 2), place(k, "b", 2, 2), place(k, "b", 1, 1), place(k, "b", 12, 0),
		headerPlace(k, 1), pendingPlace(k, Entry{Task: "b"}),
	} {
		if _, err := unseal(other, good); !errors.Is(err, ErrCorrupt) {
			t.Errorf("a value is accepted at %s: %v", other, err)
		}
	}
}

// resum gives an envelope the checksum that fits it, as another version would.
func resum(at spot, b []byte) []byte {
	body := bytes.Clone(b[:len(b)-sumBytes])
	return binary.BigEndian.AppendUint64(body, sum(at, body))
}

// Requirement: another version wrote it
func TestUnseal_OtherFormatIsNotDamage(t *testing.T) {
	at := place(Key{Thread: "t"}, "field", 1, 0)
	for i := range 4 { // magic, version, codec, flags
		other := sealedFor(t, at, "value")
		other[i] += 64 // no flag that is known
		if _, err := unseal(at, resum(at, other)); !errors.Is(err, ErrUnsupported) || errors.Is(err, ErrCorrupt) {
			t.Errorf("byte %d changed by another version gives %v, want ErrUnsupported", i, err)
		}
	}
	long := sealedFor(t, at, "value")
	long[4]++
	if _, err := unseal(at, resum(at, long)); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a length that does not fit gives %v, want ErrCorrupt", err)
	}
}

// Requirement: stored bytes are damaged
func FuzzUnseal(f *testing.F) {
	at := place(Key{Thread: "t"}, "field", 1, 0)
	f.Add(sealedFor(f, at, "value"), false)
	f.Add([]byte{magic, version, codecJSON, 0, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0, 0, 0, 0, 0, 0, 0, 0}, true)
	f.Add([]byte(nil), true)
	f.Add([]byte("\xe4\x02\x01\x00\x02000000000000000000"), false)       // encrypted, and there are no keys
	f.Add([]byte("\xf7\x03\x01000000000000000*\xca}\x07k]*\xd4"), false) // a blob, and there are no blobs
	f.Fuzz(func(t *testing.T, b []byte, fix bool) {
		if fix && len(b) >= sumBytes {
			b = resum(at, b)
		}
		payload, err := unseal(at, b)
		switch {
		case err == nil && b[3]&flagZstd == 0 && !bytes.HasSuffix(b[:len(b)-sumBytes], payload):
			t.Errorf("unseal of %x gives %x, which is not in it", b, payload)
		case err != nil && !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrUnsupported) &&
			!errors.Is(err, ErrKey) && !errors.Is(err, ErrNoBlobs):
			t.Errorf("unseal of %x gives %v", b, err)
		}
	})
}
