package sqlite

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/weftrun/weft/checkpoint"
)

func TestRefsComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		refs := rapid.SliceOf(rapid.Custom(func(t *rapid.T) checkpoint.Ref {
			return checkpoint.Ref{
				Field:  string(rapid.SliceOf(rapid.Byte()).Draw(t, "field")),
				Base:   rapid.Uint64().Draw(t, "base"),
				Chunks: rapid.Int().Draw(t, "chunks"),
			}
		})).Draw(t, "refs")
		got, err := decodeRefs(encodeRefs(refs))
		if err != nil || !slices.Equal(got, refs) {
			t.Fatalf("rule: references come back as they were\n got: %v, error %v\nwant: %v", got, err, refs)
		}
	})
}

func TestDamagedRefsAreRefused(t *testing.T) {
	whole := encodeRefs([]checkpoint.Ref{{Field: "messages", Base: 3, Chunks: 300}, {Field: "", Base: 1 << 60}})
	for i := range len(whole) * 8 {
		b := slices.Clone(whole)
		b[i/8] ^= 1 << (i % 8)
		if refs, err := decodeRefs(b); err == nil {
			t.Errorf("rule: a flipped bit is noticed\n got: %v for bit %d\nwant: an error", refs, i)
		}
	}
	for n := range whole {
		if refs, err := decodeRefs(whole[:n]); err == nil {
			t.Errorf("rule: a cut is noticed\n got: %v for %d bytes\nwant: an error", refs, n)
		}
	}
}

func FuzzDecodeRefs(f *testing.F) {
	f.Add(encodeRefs([]checkpoint.Ref{{Field: "a", Base: 1, Chunks: 2}}))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0x0f})
	f.Fuzz(func(t *testing.T, b []byte) {
		decodeRefs(b)
		decodeRefs(append(b, encodeRefs(nil)...))
	})
}
