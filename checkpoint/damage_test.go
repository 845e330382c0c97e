package checkpoint

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// envelopes are a codec for each kind of envelope, with a text that makes it one.
func envelopes() map[string]struct {
	codec Codec
	text  string
} {
	ring := map[string][]byte{"k": bytes.Repeat([]byte{1}, keyBytes), "l": bytes.Repeat([]byte{2}, keyBytes)}
	var words strings.Builder
	for n := range 250 {
		fmt.Fprintf(&words, "line %d of %d, ", n, n*n)
	}
	type kind = struct {
		codec Codec
		text  string
	}
	return map[string]kind{
		"plain":                    {Codec{}, "value"},
		"compressed":               {Codec{}, words.String()},
		"encrypted":                {Codec{Keys: &Keys{Current: "k", Ring: ring}}, "value"},
		"encrypted, plain allowed": {Codec{Keys: &Keys{Current: "k", Ring: ring, Plain: true}}, "value"},
	}
}

// typed reports whether err is what damage may be called.
func typed(err error) bool {
	return errors.Is(err, ErrCorrupt) || errors.Is(err, ErrUnsupported) || errors.Is(err, ErrKey)
}

// Requirement: stored bytes are damaged
func TestEnvelope_DamagedIsRefused(t *testing.T) {
	for name, kind := range envelopes() {
		texts := NewTexts(kind.codec)
		good, err := texts.Seal(kind.text)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := texts.Unseal(good); err != nil || string(got) != `"`+kind.text+`"` {
			t.Fatalf("%s: got %.40q, %v", name, got, err)
		}
		for i := range len(good) * 8 {
			bad := bytes.Clone(good)
			bad[i/8] ^= 1 << (i % 8)
			if got, err := texts.Unseal(bad); !typed(err) || got != nil {
				t.Fatalf("%s: with bit %d flipped: got %.40q, %v", name, i, got, err)
			}
		}
		for n := range good {
			for _, bad := range [][]byte{good[:n], good[n+1:], append(bytes.Clone(good[:n]), good...)} {
				if got, err := texts.Unseal(bad); len(bad) != len(good) && (!typed(err) || got != nil) {
					t.Fatalf("%s: %d bytes of %d: got %.40q, %v", name, len(bad), len(good), got, err)
				}
			}
		}
		if _, err := NewTexts(Codec{}).Unseal(good); kind.codec.Keys != nil && !errors.Is(err, ErrKey) {
			t.Errorf("%s: without keys: %v, want an ErrKey", name, err)
		}
	}
}

// zstdOf compresses n zeros.
func zstdOf(t testing.TB, n int, o ...zstd.EOption) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil, o...)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	return w.EncodeAll(make([]byte, n), nil)
}

// compressedEnvelope returns an envelope whose payload claims to expand to raw bytes.
func compressedEnvelope(raw uint64, payload []byte) []byte {
	b := binary.AppendUvarint([]byte{magic, version, codecJSON, flagZstd}, raw)
	b = append(b, payload...)
	return binary.BigEndian.AppendUint64(b, sum(textSpot, b))
}

// Requirement: a value expands without end
func TestDecompression_OfBombsTakesNoMemory(t *testing.T) {
	zeros := zstdOf(t, 64<<20)
	long := append(bytes.Clone(zeros), bytes.Repeat(zstdOf(t, 1), 1<<20/len(zstdOf(t, 1)))...) // not so small any more
	for name, b := range map[string][]byte{
		"too small a length": compressedEnvelope(5, zeros),
		"the true length":    compressedEnvelope(64<<20, zeros),
		"a length of 1 GiB":  compressedEnvelope(1<<30, zeros),
		"the largest length": compressedEnvelope(1<<64-1, zeros),
		"frame without size": compressedEnvelope(1<<16, zeros[:len(zeros)-1]),
		"many frames":        compressedEnvelope(1<<20, long),
		"many small frames":  compressedEnvelope(1<<10, bytes.Repeat(zstdOf(t, 1<<20), 100)),
		"deep JSON":          sealedFor(t, textSpot, json.RawMessage(strings.Repeat("[", 9000)+strings.Repeat("]", 9000))),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		payload, err := unseal(textSpot, b)
		if err == nil {
			err = json.Unmarshal(payload, new(Record))
		}
		runtime.ReadMemStats(&after)
		if err == nil {
			t.Errorf("%s: it was read", name)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 10<<20 {
			t.Errorf("%s: it took %d bytes, want less than 10 MiB (%v)", name, took, err)
		}
	}
}

func TestCompression_TooHighRatioIsStoredPlain(t *testing.T) {
	for name, tt := range map[string]struct {
		text       string
		compressed bool
	}{
		"short":        {strings.Repeat("short ", 100), false},
		"ordinary":     {envelopes()["compressed"].text, true},
		"all the same": {strings.Repeat("x", 1<<20), false},
	} {
		data := sealedFor(t, textSpot, tt.text)
		if got := data[3]&flagZstd != 0; got != tt.compressed {
			t.Errorf("%s: compressed is %v, want %v", name, got, tt.compressed)
		}
		if got, err := unseal(textSpot, data); err != nil || string(got) != `"`+tt.text+`"` {
			t.Errorf("%s: it does not come back: %v", name, err)
		}
		plain, _, err := (&Codec{NoCompression: true}).seal(textSpot, "", tt.text)
		if err != nil || plain[3] != 0 {
			t.Errorf("%s: with NoCompression the flags are %x, %v", name, plain[3], err)
		}
	}
}

func TestCompression_ValueIsCopiedUnopened(t *testing.T) {
	from, to := textSpot, place(Key{"other", "ns"}, "field", 7, 0)
	for name, kind := range envelopes() {
		if kind.codec.Keys != nil {
			continue
		}
		good := sealedFor(t, from, kind.text)
		moved, err := reseal(from, to, good)
		if err != nil || len(moved) != len(good) {
			t.Fatalf("%s: %d bytes of %d, %v", name, len(moved), len(good), err)
		}
		if got, err := unseal(to, moved); err != nil || string(got) != `"`+kind.text+`"` {
			t.Errorf("%s: got %.40q, %v", name, got, err)
		}
		if _, err := unseal(from, moved); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: it still counts where it was: %v", name, err)
		}
		if _, err := reseal(to, from, good); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: it moves from where it is not: %v", name, err)
		}
	}
}

func TestTypeName_LongIsCut(t *testing.T) {
	note := strings.Repeat("é", 100)
	data, _, err := new(Codec).seal(textSpot, note, 1)
	if err != nil {
		t.Fatal(err)
	}
	got, typ, err := unsealNoted(textSpot, data)
	if err != nil || string(got) != "1" || len(typ) > maxNote+3 || !strings.HasPrefix(typ, "éé") {
		t.Errorf("got %s with %q, %v", got, typ, err)
	}
}

// FuzzSecret feeds bytes to a keyring, as they are and encrypted with its key.
func FuzzSecret(f *testing.F) {
	kind := envelopes()["encrypted"]
	texts := NewTexts(kind.codec)
	good, err := texts.Seal(kind.text)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good, false)
	f.Add([]byte{magicSecret, versionSecret, cipherGCM, 0, 255, 1}, false)
	f.Add(compressedEnvelope(1<<20, zstdOf(f, 1<<20)), true)
	f.Fuzz(func(t *testing.T, b []byte, encrypt bool) {
		if encrypt {
			enc, err := texts.ring.encrypter(textSpot.thread)
			if err == nil {
				b, err = enc.encrypt(textSpot, b)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if got, err := texts.Unseal(b); err != nil && (!typed(err) || got != nil) {
			t.Errorf("%x gives %x, %v", b, got, err)
		}
	})
}

// FuzzCompressed feeds payloads to the reader of compressed values.
//
// Requirement: a value expands without end
func FuzzCompressed(f *testing.F) {
	f.Add([]byte(nil), uint64(0))
	f.Add(zstdOf(f, 5000), uint64(5000))
	f.Add(zstdOf(f, 5000, zstd.WithSingleSegment(false)), uint64(4999))
	f.Fuzz(func(t *testing.T, payload []byte, raw uint64) {
		got, err := unseal(textSpot, compressedEnvelope(raw, payload))
		if err == nil && uint64(len(got)) != raw || err != nil && (!typed(err) || got != nil) {
			t.Errorf("%x of %d gives %d bytes, %v", payload, raw, len(got), err)
		}
	})
}

// FuzzReadRecord reads records whose checksum is right.
//
// Requirement: stored bytes are damaged
func FuzzReadRecord(f *testing.F) {
	f.Add([]byte(`{"step":1,"fields":[{"n":"a","b":1,"c":-1,"v":-2,"k":"list"}]}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, payload []byte) {
		k := Key{Thread: "t"}
		b := binary.AppendUvarint([]byte{magic, version, codecJSON, 0}, uint64(len(payload)))
		b = append(b, payload...)
		b = binary.BigEndian.AppendUint64(b, sum(headerPlace(k, 1), b))
		snap := Snapshot{Key: k, Seq: 1, Head: 1, Header: b}
		if _, err := ReadRecord(snap); err != nil && !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s gives %v", payload, err)
		}
		if _, _, err := Restore(snap, noFields); err != nil && !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s restores with %v", payload, err)
		}
	})
}
