package sqlite

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/weftrun/weft/checkpoint"
)

func TestRefs_RoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		refs := rapid.SliceOf(rapid.Custom(func(t *rapid.T) checkpoint.Ref {
			return checkpoint.Ref{
				Field:  string(rapid.SliceOf(rapid.Byte()).Draw(t, "field")),
				Base:   rapid.Uint64().Draw(t, "base"),
				Chunks: rapid.Int().Draw(t, "chunks"),
			}
		})).Draw(t, "refs")
		text := rapid.StringMatching(`[a-zé:=\x{1}🧵]{1,5}`)
		labels := encodeLabels(rapid.MapOf(text, text).Draw(t, "labels"))
		got, err := decodeRefs(encodeRefs(refs, labels), labels)
		if err != nil || !slices.Equal(got, refs) {
			t.Fatalf("rule: references come back as they were\n got: %v, error %v\nwant: %v", got, err, refs)
		}
	})
}

// Requirement: stored bytes are damaged
func TestRefs_DamagedAreRefused(t *testing.T) {
	labels := encodeLabels(map[string]string{"run": "1", "source": "step"})
	whole := encodeRefs([]checkpoint.Ref{{Field: "messages", Base: 3, Chunks: 300}, {Field: "", Base: 1 << 60}}, labels)
	for i := range len(labels) * 8 {
		b := slices.Clone(labels)
		b[i/8] ^= 1 << (i % 8)
		if _, err := decodeRefs(whole, b); err == nil {
			t.Errorf("rule: a flipped bit of a label is noticed\n got: no error for bit %d\nwant: an error", i)
		}
	}
	for i := range len(whole) * 8 {
		b := slices.Clone(whole)
		b[i/8] ^= 1 << (i % 8)
		if refs, err := decodeRefs(b, labels); err == nil {
			t.Errorf("rule: a flipped bit is noticed\n got: %v for bit %d\nwant: an error", refs, i)
		}
	}
	for n := range whole {
		if refs, err := decodeRefs(whole[:n], labels); err == nil {
			t.Errorf("rule: a cut is noticed\n got: %v for %d bytes\nwant: an error", refs, n)
		}
	}
}

func TestLabels_RoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringN(1, 6, -1)
		labels := rapid.MapOf(text, rapid.StringN(0, 6, -1)).Draw(t, "labels")
		got, err := decodeLabels(encodeLabels(labels))
		if err != nil || !maps.Equal(got, labels) {
			t.Fatalf("rule: labels come back as they were\n got: %q, error %v\nwant: %q", got, err, labels)
		}
	})
	for _, bad := range []string{"\xff", "a", "\xffa", "\xffa\xff", "a\xfeb\xff", "\xffa\xfeb"} {
		if got, err := decodeLabels([]byte(bad)); err == nil {
			t.Errorf("rule: what is no column of labels is refused\n got: %q for %q\nwant: an error", got, bad)
		}
	}
}

// Requirement: stored bytes are damaged
func FuzzDecodeRefs(f *testing.F) {
	f.Add(encodeRefs([]checkpoint.Ref{{Field: "a", Base: 1, Chunks: 2}}, nil))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0x0f})
	f.Fuzz(func(t *testing.T, b []byte) {
		decodeRefs(b, nil)
		decodeLabels(b)
		decodeRefs(append(b, encodeRefs(nil, nil)...), nil)
	})
}
