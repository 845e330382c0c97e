package checkpoint

import (
	"encoding/binary"
	"fmt"
	"hash/crc64"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/weftrun/weft/internal/compact"
)

// Every stored value is sealed in an envelope:
//
//	magic 0xF7 | version 2 | codec | flags | uvarint raw length | [note] | [mark] | payload |
//	CRC-64
//
// The checksum (ECMA, big endian) covers everything before it and the place of the value, which
// includes the thread and is not stored. So a value that was moved is detected like a flipped bit.
// The flags:
//
//   - flagZstd: the payload is compressed and expands to raw length bytes.
//   - flagNote: a uvarint length and a text precede the payload. The text is the Go type of the
//     channel that wrote it, for people only.
//   - flagBound: the digest of a commit's record precedes the payload, see binding.go.
//   - flagBinds: the record has digests of its values, see binding.go.
//
// Unknown codecs and flags are rejected.
//
// Version 1 had no flags, and its checksum did not cover the thread. It is still read.
//
// A value that is encrypted is such an envelope inside another, see secret.go.
const (
	magic     = 0xF7
	version   = 2
	codecJSON = 1
	flagZstd  = 1
	flagNote  = 2
	flagBound = 4 // a pending entry that belongs to one commit
	flagBinds = 8 // a record that binds the values of its commit
	sumBytes  = 8
	maxNote   = 80 // bytes
)

var crcTable = crc64.MakeTable(crc64.ECMA)

// spot is the place of a value: a thread, and a piece of a field or an entry in it.
type spot struct {
	thread, namespace string
	field             string // of a piece
	base              uint64
	chunk             int
	entry             bool // an entry, not a piece
	task, slot        string
}

// append appends the thread and the place, to which a value is bound.
func (s spot) append(b []byte) []byte {
	return s.appendPlace(append(strconv.AppendQuote(b, s.thread), ' '))
}

// appendPlace appends the place in the thread.
func (s spot) appendPlace(b []byte) []byte {
	b = strconv.AppendQuote(b, s.namespace)
	if s.entry {
		b = strconv.AppendQuote(append(b, " pending "...), s.task)
		return strconv.AppendQuote(append(b, ' '), s.slot)
	}
	b = append(strconv.AppendQuote(append(b, ' '), s.field), ' ')
	b = append(strconv.AppendUint(b, s.base, 10), ' ')
	return strconv.AppendInt(b, int64(s.chunk), 10)
}

func (s spot) String() string { return string(s.append(nil)) }

// place names where a piece of a field belongs.
func place(k Key, field string, base uint64, chunk int) spot {
	return spot{thread: k.Thread, namespace: k.Namespace, field: field, base: base, chunk: chunk}
}

func headerPlace(k Key, seq uint64) spot { return place(k, "header", seq, -1) }

func pendingPlace(k Key, e Entry) spot {
	return spot{thread: k.Thread, namespace: k.Namespace, entry: true, task: e.Task, slot: e.Slot}
}

// sum returns the checksum of an envelope, without the checksum in it, at its place.
func sum(at spot, body []byte) uint64 {
	var room [256]byte
	var bound []byte
	if len(body) >= 2 && body[1] == 1 {
		bound = at.appendPlace(room[:0])
	} else {
		bound = at.append(room[:0])
	}
	return crc64.Update(crc64.Checksum(bound, crcTable), crcTable, body)
}

// seal encodes v and wraps it for its place, with the zero Codec.
func seal(at spot, v any) ([]byte, error) {
	data, _, err := new(Codec).seal(at, "", v)
	return data, err
}

// seal encodes v and wraps it for its place. The note is the Go type of v. seal also returns the
// length of the encoded value.
func (c *Codec) seal(at spot, note string, v any) (data []byte, raw int, err error) {
	return c.sealWith(at, v, extra{note: note})
}

// extra is the optional content of an envelope.
type extra struct {
	note  string
	mark  []byte  // of the commit that an entry belongs to; nil for none
	tag   *string // of the field that a piece is added to, updated by sealing; nil if unbound
	binds bool    // the record binds the values of its commit
}

func (c *Codec) sealWith(at spot, v any, x extra) (data []byte, raw int, err error) {
	note := x.note
	room := payloads.Get().(*[]byte)
	payload, err := appendPayload((*room)[:0], v)
	if err != nil {
		return nil, 0, err
	}
	if cap(payload) <= maxRoom {
		*room = payload
		defer payloads.Put(room)
	}
	if len(note) > maxNote {
		note = strings.ToValidUTF8(note[:maxNote], "") + "…"
	}
	raw = len(payload)
	if x.tag != nil {
		*x.tag = nextTag(*x.tag, payload)
	}
	flags := byte(0)
	if !c.NoCompression && raw >= compressFrom {
		if small, ok := compress(payload); ok {
			payload, flags = small, flags|flagZstd
		}
	}
	b := make([]byte, 0, len(payload)+len(note)+len(x.mark)+4+2*binary.MaxVarintLen32+sumBytes)
	if note != "" {
		flags |= flagNote
	}
	if x.mark != nil {
		flags |= flagBound
	}
	if x.binds {
		flags |= flagBinds
	}
	b = append(b, magic, version, codecJSON, flags)
	b = binary.AppendUvarint(b, uint64(raw))
	if note != "" {
		b = append(binary.AppendUvarint(b, uint64(len(note))), note...)
	}
	b = append(b, x.mark...)
	b = append(b, payload...)
	return binary.BigEndian.AppendUint64(b, sum(at, b)), raw, nil
}

// payloads has buffers for payloads, which are copied into their envelopes.
var payloads = sync.Pool{New: func() any { return new([]byte) }}

// maxRoom is the size of the largest buffer that is reused, in bytes.
const maxRoom = 64 << 10

func appendPayload(b []byte, v any) ([]byte, error) {
	if r, ok := v.(*Record); ok {
		return r.appendJSON(b)
	}
	return compact.Append(b, v, compact.Float)
}

// unseal checks an envelope and returns its payload.
func unseal(at spot, b []byte) ([]byte, error) {
	payload, _, err := unsealNoted(at, b)
	return payload, err
}

// unsealNoted checks an envelope and returns its payload and its note.
func unsealNoted(at spot, b []byte) (payload []byte, note string, err error) {
	payload, x, err := unsealAll(at, b)
	return payload, x.note, err
}

// unsealAll checks an envelope and returns its payload and its optional content.
func unsealAll(at spot, b []byte) (payload []byte, x extra, err error) {
	body, err := intact(at, b)
	if err != nil {
		return nil, x, err
	}
	flags := body[3]
	if body[2] != codecJSON || flags&^(flagZstd|flagNote|flagBound|flagBinds) != 0 || body[1] == 1 && flags != 0 {
		return nil, x, fmt.Errorf("%w: envelope % x", ErrUnsupported, body[:4])
	}
	x.binds = flags&flagBinds != 0
	raw, rest, ok := cutUvarint(body[4:])
	if flags&flagNote != 0 && ok {
		var n uint64
		if n, rest, ok = cutUvarint(rest); ok && n <= uint64(len(rest)) {
			x.note, rest = string(rest[:n]), rest[n:]
		} else {
			ok = false
		}
	}
	if flags&flagBound != 0 && ok {
		if ok = len(rest) >= markBytes; ok {
			x.mark, rest = rest[:markBytes:markBytes], rest[markBytes:]
		}
	}
	switch {
	case !ok || flags&flagZstd == 0 && raw != uint64(len(rest)):
		return nil, x, fmt.Errorf("%w: the length does not match", ErrCorrupt)
	case flags&flagZstd == 0:
		return rest, x, nil
	}
	payload, err = decompress(rest, raw)
	return payload, x, err
}

// intact checks the checksum of an envelope and returns the envelope without it.
func intact(at spot, b []byte) ([]byte, error) {
	if len(b) > 2 && b[0] == magicSecret {
		return nil, encrypted(b)
	}
	if len(b) < 5+sumBytes {
		return nil, fmt.Errorf("%w: %d bytes are too few", ErrCorrupt, len(b))
	}
	body, tail := b[:len(b)-sumBytes], binary.BigEndian.Uint64(b[len(b)-sumBytes:])
	if tail != sum(at, body) {
		return nil, fmt.Errorf("%w: the checksum does not match", ErrCorrupt)
	}
	// The checksum matches: some version of this package wrote the bytes.
	if body[0] != magic || body[1] == 0 || body[1] > version {
		return nil, fmt.Errorf("%w: envelope % x", ErrUnsupported, body[:4])
	}
	return body, nil
}

func cutUvarint(b []byte) (n uint64, rest []byte, ok bool) {
	n, used := binary.Uvarint(b)
	if used <= 0 {
		return 0, nil, false
	}
	return n, b[used:], true
}

// reseal returns an envelope for another place, in the current version. It does not decode the
// payload.
func reseal(from, to spot, b []byte) ([]byte, error) {
	body, err := intact(from, b)
	if err != nil {
		return nil, err
	}
	body = slices.Clone(body)
	body[1] = version
	return binary.BigEndian.AppendUint64(body, sum(to, body)), nil
}
