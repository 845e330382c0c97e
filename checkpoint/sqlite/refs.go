package sqlite

import (
	"encoding/binary"
	"errors"
	"hash/crc32"

	"github.com/weftrun/weft/checkpoint"
)

// The references of a commit are one column. It starts with their number. Each reference is the
// length of the field's name, the name, the base and the number of chunks. Numbers are uvarints.
// The last 4 bytes are a CRC-32C of the column and the labels, little endian. The checksum is made
// here because the layers above never see these bytes.

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func encodeRefs(refs []checkpoint.Ref, labels []byte) []byte {
	b := binary.AppendUvarint(make([]byte, 0, 16+24*len(refs)), uint64(len(refs)))
	for _, r := range refs {
		b = binary.AppendUvarint(b, uint64(len(r.Field)))
		b = append(b, r.Field...)
		b = binary.AppendUvarint(b, r.Base)
		b = binary.AppendUvarint(b, uint64(r.Chunks))
	}
	return binary.LittleEndian.AppendUint32(b, refsSum(b, labels))
}

func refsSum(refs, labels []byte) uint32 {
	return crc32.Update(crc32.Checksum(refs, castagnoli), castagnoli, labels)
}

var (
	errRefsSum  = errors.New("the checksum of the references is wrong")
	errRefsForm = errors.New("the references are cut off")
)

// decodeRefs returns nil for a commit without references.
func decodeRefs(b, labels []byte) ([]checkpoint.Ref, error) {
	n := len(b) - crc32.Size
	if n < 0 {
		return nil, errRefsForm
	}
	if refsSum(b[:n], labels) != binary.LittleEndian.Uint32(b[n:]) {
		return nil, errRefsSum
	}
	d := decoder{rest: b[:n]}
	var refs []checkpoint.Ref
	for range d.uvarint() {
		r := checkpoint.Ref{Field: d.text(), Base: d.uvarint(), Chunks: int(d.uvarint())}
		if d.bad {
			return nil, errRefsForm
		}
		refs = append(refs, r)
	}
	if d.bad || len(d.rest) > 0 {
		return nil, errRefsForm
	}
	return refs, nil
}

// decoder reads from the front of rest until something is bad.
type decoder struct {
	rest []byte
	bad  bool
}

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.rest)
	if n <= 0 {
		d.bad = true
		return 0
	}
	d.rest = d.rest[n:]
	return v
}

func (d *decoder) text() string {
	n := d.uvarint()
	if n > uint64(len(d.rest)) {
		d.bad = true
		return ""
	}
	s := string(d.rest[:n])
	d.rest = d.rest[n:]
	return s
}
