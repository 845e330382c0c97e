package checkpoint

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"hash/crc64"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/weftrun/weft/internal/compact"
)

// Every stored value is sealed in an envelope:
//
//	magic 0xF7 | version 3 | codec | flags | uvarint raw length | [note] | [mark] | payload |
//	CRC-32C | CRC-32
//
// The checksums (Castagnoli and IEEE, big endian) cover everything before them and the place of the
// value, which includes the thread and is not stored. So a value that was moved is detected like a
// flipped bit. The two together detect what one checksum of 64 bits does, and processors compute
// them. The flags:
//
//   - flagZstd: the payload is compressed and expands to raw length bytes.
//   - flagNote: a uvarint length and a text precede the payload. The text is the Go type of the
//     channel that wrote it, for people only.
//   - flagBound: the digest of a commit's record precedes the payload, see binding.go.
//   - flagBinds: the record has digests of its values, see binding.go.
//   - flagBeside: a length and hashes replace the payload, see withblobs.go.
//
// Unknown codecs and flags are rejected.
//
// Version 2 had one checksum, CRC-64 (ECMA, big endian). Version 1 had no flags, and its checksum
// did not cover the thread. Both are still read.
//
// A value that is encrypted is such an envelope inside another, see secret.go.
const (
	magic     = 0xF7
	version   = 3
	codecJSON = 1
	flagZstd  = 1
	flagNote  = 2
	flagBound = 4 // a pending entry that belongs to one commit
	flagBinds = 8 // a record that binds the values of its commit
	// flagBeside is of a stub: the payload is a blob, see withblobs.go.
	flagBeside = 16
	sumBytes   = 8
	maxNote    = 80 // bytes
)

var (
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
	ecma       = crc64.MakeTable(crc64.ECMA) // of the versions 1 and 2
)

// spot is the place of a value: a thread, and a piece of a field or an entry in it.
type spot struct {
	thread, namespace string
	field             string // of a piece
	base              uint64
	chunk             int
	entry             bool // an entry, not a piece
	task, slot        string
	origin            origin // of the chain; its zero value is computed when it is needed
}

// append appends the thread and the place, to which a value is bound.
func (s spot) append(b []byte) []byte {
	return s.appendPlace(append(appendQuote(b, s.thread), ' '))
}

// appendPlace appends the place in the thread.
func (s spot) appendPlace(b []byte) []byte { return s.appendPiece(appendQuote(b, s.namespace)) }

// appendPiece appends the place in the namespace.
func (s spot) appendPiece(b []byte) []byte {
	if s.entry {
		b = appendQuote(append(b, " pending "...), s.task)
		return appendQuote(append(b, ' '), s.slot)
	}
	b = append(appendQuote(append(b, ' '), s.field), ' ')
	b = append(strconv.AppendUint(b, s.base, 10), ' ')
	return strconv.AppendInt(b, int64(s.chunk), 10)
}

// appendQuote is strconv.AppendQuote. It is faster for texts without escapes.
func appendQuote(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return strconv.AppendQuote(b, s)
		}
	}
	return append(append(append(b, '"'), s...), '"')
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

// sums are two checksums of the same bytes.
type sums struct{ castagnoli, ieee uint32 }

func (s sums) add(b []byte) sums {
	return sums{crc32.Update(s.castagnoli, castagnoli, b), crc32.Update(s.ieee, crc32.IEEETable, b)}
}

// addPlace is add for a place, which is short: b does not escape to the heap.
func (s sums) addPlace(b []byte) sums {
	s.castagnoli, s.ieee = ^s.castagnoli, ^s.ieee
	for _, v := range b {
		s.castagnoli = castagnoli[byte(s.castagnoli)^v] ^ s.castagnoli>>8
		s.ieee = crc32.IEEETable[byte(s.ieee)^v] ^ s.ieee>>8
	}
	return sums{^s.castagnoli, ^s.ieee}
}

// origin has the checksums of the thread and the namespace, with which all places of a chain begin.
type origin struct {
	known bool
	sums
}

func originOf(k Key) origin {
	var room [256]byte
	b := append(appendQuote(room[:0], k.Thread), ' ')
	return origin{true, sums{}.addPlace(appendQuote(b, k.Namespace))}
}

// sum returns the checksum of an envelope, without the checksum in it, at its place.
func sum(at spot, body []byte) uint64 {
	if len(body) >= 2 && body[1] <= 2 {
		return oldSum(at, body)
	}
	var room [256]byte
	begin := at.origin
	if !begin.known {
		begin = originOf(Key{at.thread, at.namespace})
	}
	s := begin.addPlace(at.appendPiece(room[:0])).add(body)
	return uint64(s.castagnoli)<<32 | uint64(s.ieee)
}

// oldSum is sum for an envelope of version 1 or 2.
func oldSum(at spot, body []byte) uint64 {
	bound := at.append(nil)
	if body[1] == 1 {
		bound = at.appendPlace(nil)
	}
	return crc64.Update(crc64.Checksum(bound, ecma), ecma, body)
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
	hash  *string // set to the hash of a record by sealing; nil for none
}

// sealWith is seal into memory of its own.
func (c *Codec) sealWith(at spot, v any, x extra) (data []byte, raw int, err error) {
	room := rooms.Get().(*[]byte)
	defer rooms.Put(room)
	data, raw, err = c.sealInto(room, at, v, x)
	data = bytes.Clone(data)
	clip(room)
	return data, raw, err
}

// sealInto is seal into memory that it appends to room. What it has appended before stays valid.
func (c *Codec) sealInto(room *[]byte, at spot, v any, x extra) (data []byte, raw int, err error) {
	note, flags := x.note, byte(0)
	if len(note) > maxNote {
		note = strings.ToValidUTF8(note[:maxNote], "") + "…"
	}
	// The payload comes first, after a gap for what precedes it: the length of its length is not
	// known yet.
	var gap [4 + 2*binary.MaxVarintLen32 + maxNote + 3 + markBytes]byte
	extras := len(x.mark)
	if note != "" {
		extras += len(binary.AppendUvarint(gap[:0], uint64(len(note)))) + len(note)
	}
	from := len(*room) + 4 + binary.MaxVarintLen32 + extras
	b := append(*room, gap[:from-len(*room)]...)
	if b, err = appendPayload(b, v); err != nil {
		return nil, 0, err
	}
	raw = len(b) - from
	if c.found != nil {
		*c.found = appendBlobs(*c.found, b[from:])
		if r, ok := v.(*Record); ok {
			for _, e := range r.Trace {
				*c.found = appendBlobs(*c.found, e.Data)
			}
		}
	}
	if x.tag != nil {
		*x.tag = nextTag(*x.tag, b[from:])
	}
	if x.hash != nil {
		*x.hash = hashOf(b[from:])
	}
	if !c.NoCompression && raw >= compressFrom {
		if small, ok := compress(b[from:]); ok {
			b, flags = append(b[:from], small...), flagZstd
		}
	}
	head := append(gap[:0], magic, version, codecJSON, flags)
	head = binary.AppendUvarint(head, uint64(raw))
	if note != "" {
		head[3] |= flagNote
		head = append(binary.AppendUvarint(head, uint64(len(note))), note...)
	}
	if x.mark != nil {
		head[3] |= flagBound
		head = append(head, x.mark...)
	}
	if x.binds {
		head[3] |= flagBinds
	}
	begin := from - len(head)
	copy(b[begin:], head)
	b = binary.BigEndian.AppendUint64(b, sum(at, b[begin:]))
	*room = b
	return b[begin:len(b):len(b)], raw, nil
}

// rooms has memory for values that are sealed and then copied.
var rooms = sync.Pool{New: func() any { return new([]byte) }}

// maxRoom is the size of the largest memory that is reused, in bytes.
const maxRoom = 64 << 10

// clip empties room, to be used again unless it is too large.
func clip(room *[]byte) {
	if *room = (*room)[:0]; cap(*room) > maxRoom {
		*room = nil
	}
}

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
	if flags&flagBeside != 0 && body[2] == codecJSON {
		return nil, x, fmt.Errorf("%w: the value is stored as a blob; open the store with WithBlobs", ErrNoBlobs)
	}
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
