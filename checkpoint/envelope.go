package checkpoint

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc64"
)

// Every stored value is sealed in an envelope:
//
//	magic 0xF7 | version 1 | codec | flags | uvarint payload length | payload | CRC-64
//
// The checksum (ECMA, big endian) covers the place of the value, which is not
// stored, and everything before it; so a value that was moved is as damaged as one
// whose bits were flipped. Unknown codecs and flags are refused, never guessed.
const (
	magic     = 0xF7
	version   = 1
	codecJSON = 1
	sumBytes  = 8
)

var crcTable = crc64.MakeTable(crc64.ECMA)

// place names where a value belongs in its namespace.
func place(namespace, field string, base uint64, chunk int) string {
	return fmt.Sprintf("%q %q %d %d", namespace, field, base, chunk)
}

func sum(place string, data []byte) uint64 {
	return crc64.Update(crc64.Checksum([]byte(place), crcTable), crcTable, data)
}

// seal encodes v and wraps it for its place.
func seal(place string, v any) ([]byte, error) {
	payload, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	b := make([]byte, 0, len(payload)+4+binary.MaxVarintLen32+sumBytes)
	b = append(b, magic, version, codecJSON, 0)
	b = binary.AppendUvarint(b, uint64(len(payload)))
	b = append(b, payload...)
	return binary.BigEndian.AppendUint64(b, sum(place, b)), nil
}

// unseal checks an envelope and returns its payload.
func unseal(place string, b []byte) ([]byte, error) {
	if len(b) < 5+sumBytes {
		return nil, fmt.Errorf("%w: %d bytes are too few", ErrCorrupt, len(b))
	}
	body, tail := b[:len(b)-sumBytes], b[len(b)-sumBytes:]
	if binary.BigEndian.Uint64(tail) != sum(place, body) {
		return nil, fmt.Errorf("%w: the checksum does not match", ErrCorrupt)
	}
	// From here on the bytes are what some version of this package wrote.
	if body[0] != magic || body[1] != version || body[2] != codecJSON || body[3] != 0 {
		return nil, fmt.Errorf("%w: envelope % x", ErrUnsupported, body[:4])
	}
	n, used := binary.Uvarint(body[4:])
	if used <= 0 || n != uint64(len(body)-4-used) {
		return nil, fmt.Errorf("%w: the length does not match", ErrCorrupt)
	}
	return body[4+used:], nil
}
