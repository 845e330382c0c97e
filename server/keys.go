package server

import (
	"bufio"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// Keys are API keys. The zero Keys accepts none. A client sends its key as X-Api-Key, or as a
// bearer token.
type Keys struct {
	entries []keyEntry
}

type keyEntry struct {
	name string
	hash [sha256.Size]byte
}

// Add accepts a key, and names the identity that has it.
func (k *Keys) Add(identity, key string) { k.AddHash(identity, sha256.Sum256([]byte(key))) }

// AddHash accepts the key with this SHA-256, and names the identity that has it.
func (k *Keys) AddHash(identity string, hash [sha256.Size]byte) {
	k.entries = append(k.entries, keyEntry{identity, hash})
}

// ReadKeys reads keys, one a line: the identity, a space, and the SHA-256 of the key in
// hexadecimal. Empty lines and lines that begin with # are ignored.
func ReadKeys(r io.Reader) (*Keys, error) {
	k, lines := &Keys{}, bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		fields := strings.Fields(line)
		var hash [sha256.Size]byte
		if len(fields) != 2 || len(fields[1]) != hex.EncodedLen(sha256.Size) {
			return nil, fmt.Errorf("%w: line %d of the keys must be an identity and a SHA-256", ErrConfig, n)
		}
		if _, err := hex.Decode(hash[:], []byte(fields[1])); err != nil {
			return nil, fmt.Errorf("%w: line %d of the keys must be an identity and a SHA-256", ErrConfig, n)
		}
		k.AddHash(fields[0], hash)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("server: read keys: %w", err)
	}
	return k, nil
}

// Authenticate finds the identity that has the key of a request. It compares with every key, so its
// time does not depend on which one it is.
func (k *Keys) Authenticate(r *http.Request) (Identity, error) {
	key := r.Header.Get("X-Api-Key")
	if key == "" {
		key = bearer(r)
	}
	if key == "" {
		return Identity{}, ErrUnauthorized
	}
	hash, found := sha256.Sum256([]byte(key)), -1
	for i, e := range k.entries {
		if subtle.ConstantTimeCompare(e.hash[:], hash[:]) == 1 {
			found = i
		}
	}
	if found < 0 {
		return Identity{}, ErrUnauthorized
	}
	return Identity{Name: k.entries[found].name}, nil
}

// bearer returns the bearer token of a request, or "".
func bearer(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}
