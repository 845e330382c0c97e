package postgres

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"

	"github.com/weftrun/weft/checkpoint"
)

// The references of a commit are three arrays, so that the server can join them with the blobs they
// name. The layers above never see these bytes, so a checksum is stored with them.

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// places are three arrays of one length: addresses of blobs, or references.
type places struct {
	fields [][]byte
	bases  []int64
	chunks []int32
}

// add appends one. A number beyond 63 bits wraps, here and back.
func (p *places) add(field string, base uint64, chunk int) error {
	if chunk < 0 || chunk > math.MaxInt32 {
		return fmt.Errorf("%w: field %q, base %d: chunk %d; a base has at most %d", checkpoint.ErrTooLarge, field, base, chunk, math.MaxInt32)
	}
	p.fields = append(p.fields, []byte(field))
	p.bases = append(p.bases, int64(base))
	p.chunks = append(p.chunks, int32(chunk))
	return nil
}

// newPlaces has room for n, and arrays that are not nil.
func newPlaces(n int) places {
	return places{make([][]byte, 0, n), make([]int64, 0, n), make([]int32, 0, n)}
}

func encodeRefs(refs []checkpoint.Ref) (p places, err error) {
	p = newPlaces(len(refs))
	for _, r := range refs {
		if err := p.add(r.Field, r.Base, r.Chunks); err != nil {
			return p, err
		}
	}
	return p, nil
}

// sum is the CRC-32C of the places, each as the length of its field, the field, the
// base and the chunk, all as uvarints.
func (p places) sum() int64 {
	var b []byte
	for i, field := range p.fields {
		b = binary.AppendUvarint(b, uint64(len(field)))
		b = append(b, field...)
		b = binary.AppendUvarint(b, uint64(p.bases[i]))
		b = binary.AppendUvarint(b, uint64(p.chunks[i]))
	}
	return int64(crc32.Checksum(b, castagnoli))
}

// decodeRefs returns nil for a commit without references, and why they are damaged.
func decodeRefs(p places, sum int64) (refs []checkpoint.Ref, why string) {
	if len(p.bases) != len(p.fields) || len(p.chunks) != len(p.fields) {
		return nil, "the references are cut off"
	}
	if p.sum() != sum {
		return nil, "the checksum of the references is wrong"
	}
	for i, field := range p.fields {
		refs = append(refs, checkpoint.Ref{Field: string(field), Base: uint64(p.bases[i]), Chunks: int(p.chunks[i])})
	}
	return refs, ""
}
