package redis

import (
	"crypto/sha256"
	"encoding/base32"
	"strconv"
	"strings"
)

// layout is the version of what is stored. It is part of the origin of a thread, so
// that a script refuses what it does not know.
const layout = "1"

// maxNumber is the greatest number of a commit: Lua counts in doubles.
const maxNumber = 1 << 53

// maxReadable is the length up to which a name may stay as it is.
const maxReadable = 64

var hashText = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// encode makes any name a part of a key or of a hash's field: up to 64 bytes of
// letters, digits, '.', '_' and '-' stay readable, anything else becomes '~' and 160
// bits of its SHA-256. So no two names share a key, and none has a '{', '/' or ':'.
func encode(name string) string {
	if readable(name) {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return "~" + hashText.EncodeToString(sum[:20])
}

func readable(name string) bool {
	if len(name) > maxReadable {
		return false
	}
	for i := range len(name) {
		switch c := name[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}

// key returns the key of a thread. The braces put all that a cluster knows of a
// thread into one slot.
func (s *Store) key(thread string) string { return s.cfg.Prefix + ":{" + encode(thread) + "}" }

// origin returns the field that holds the layout of a thread's key and the thread's id.
func origin(thread string) string { return layout + thread }

// commitField returns the field of a commit; ns is encoded, as everywhere below.
func commitField(ns string, seq uint64) string { return "c/" + ns + "/" + decimal(seq) }

func blobField(ns, field string, base uint64, chunk int) string {
	b := make([]byte, 0, 64)
	b = append(b, "b/"...)
	b = append(b, ns...)
	b = append(b, '/')
	b = append(b, encode(field)...)
	b = append(b, '/')
	b = strconv.AppendUint(b, base, 10)
	b = append(b, '/')
	return string(strconv.AppendInt(b, int64(chunk), 10))
}

// entryName joins a task and a slot; splitEntryName is its inverse.
func entryName(task, slot string) string { return strconv.Itoa(len(task)) + ":" + task + slot }

func splitEntryName(name string) (task, slot string, ok bool) {
	length, rest, ok := strings.Cut(name, ":")
	n, err := strconv.Atoi(length)
	if !ok || err != nil || n < 0 || n > len(rest) {
		return "", "", false
	}
	return rest[:n], rest[n:], true
}

func decimal(n uint64) string { return strconv.FormatUint(n, 10) }
