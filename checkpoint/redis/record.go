package redis

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/weftrun/weft/checkpoint"
)

// A commit is one value: 8 random bytes, by which a call knows its own work again; a
// line with the references, which the script that loads reads too; and then, each
// after its length as a uvarint, the names of fields that could not stay readable, the
// ID, the labels and the header. At the end is a CRC-32C of all that, little
// endian, because no layer above sees most of these bytes.

const nonceBytes = 8

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func encodeRecord(nonce []byte, c *checkpoint.Commit) []byte {
	b := make([]byte, 0, nonceBytes+48*(1+len(c.Refs)+len(c.Labels))+len(c.ID)+len(c.Header))
	b = append(b, nonce...)
	var hidden []string
	for i, r := range c.Refs {
		if i > 0 {
			b = append(b, ',')
		}
		field := encode(r.Field)
		if field != r.Field {
			hidden = append(hidden, r.Field)
		}
		b = append(append(b, field...), '/')
		b = append(strconv.AppendUint(b, r.Base, 10), '/')
		b = strconv.AppendInt(b, int64(r.Chunks), 10)
	}
	b = append(b, '\n')
	for _, name := range hidden {
		b = appendText(b, name)
	}
	b = appendText(b, c.ID)
	b = binary.AppendUvarint(b, uint64(len(c.Labels)))
	for _, k := range slices.Sorted(maps.Keys(c.Labels)) {
		b = appendText(appendText(b, k), c.Labels[k])
	}
	b = binary.AppendUvarint(b, uint64(len(c.Header)))
	b = append(b, c.Header...)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

var (
	errRecordSum  = errors.New("the checksum of the commit is wrong")
	errRecordForm = errors.New("the commit has not the form of one")
)

// decodeRecord sets the fields of a commit from its record.
func decodeRecord(snap *checkpoint.Snapshot, record string) error {
	n := len(record) - crc32.Size
	if n < nonceBytes {
		return errRecordForm
	}
	b := []byte(record)
	if crc32.Checksum(b[:n], castagnoli) != binary.LittleEndian.Uint32(b[n:]) {
		return errRecordSum
	}
	b = b[nonceBytes:n]
	end := bytes.IndexByte(b, '\n')
	if end < 0 {
		return errRecordForm
	}
	d := decoder{rest: b[end+1:]}
	d.refs(snap, string(b[:end]))
	snap.ID = d.text()
	d.labels(snap)
	snap.Header = bytes.Clone(d.next(d.uvarint()))
	if d.bad || len(d.rest) > 0 {
		return errRecordForm
	}
	return nil
}

// decoder reads from the front of rest until something is bad.
type decoder struct {
	rest []byte
	bad  bool
}

func (d *decoder) refs(snap *checkpoint.Snapshot, line string) {
	if line == "" {
		return
	}
	for part := range strings.SplitSeq(line, ",") {
		text := strings.Split(part, "/")
		if len(text) != 3 {
			d.bad = true
			return
		}
		base, err := strconv.ParseUint(text[1], 10, 64)
		chunks, err2 := strconv.Atoi(text[2])
		if err != nil || err2 != nil || chunks < 0 {
			d.bad = true
			return
		}
		field := text[0]
		if strings.HasPrefix(field, "~") {
			field = d.text()
		}
		snap.Refs = append(snap.Refs, checkpoint.Ref{Field: field, Base: base, Chunks: chunks})
	}
}

func (d *decoder) labels(snap *checkpoint.Snapshot) {
	for range d.uvarint() {
		k, v := d.text(), d.text()
		if d.bad {
			return
		}
		if snap.Labels == nil {
			snap.Labels = map[string]string{}
		}
		snap.Labels[k] = v
	}
}

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.rest)
	if n <= 0 {
		d.bad, d.rest = true, nil
		return 0
	}
	d.rest = d.rest[n:]
	return v
}

func (d *decoder) next(n uint64) []byte {
	if n > uint64(len(d.rest)) {
		d.bad, d.rest = true, nil
		return nil
	}
	b := d.rest[:n]
	d.rest = d.rest[n:]
	return b
}

func (d *decoder) text() string { return string(d.next(d.uvarint())) }
