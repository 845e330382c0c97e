package checkpoint

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"io"
	"unicode/utf8"
)

// A value that is encrypted is an envelope inside another:
//
//	magic 0xE4 | version 2 | cipher 1 | flags 0 | length of the key's id | id |
//	check of the key, 4 bytes | nonce, 12 bytes | AES-256-GCM of the inner envelope, with its tag
//
// The bytes before the nonce are authenticated, and so is the place of the value, which includes
// the thread. The commit of a value is in the inner envelope, see binding.go. Each thread has its
// own key, HMAC-SHA256(key, "weft thread " + thread). So the limit of 2^32 values under random
// nonces applies to each thread and not to the keyring. The check is the beginning of
// HMAC-SHA256(key, "weft check"). It distinguishes a wrong key from damage.
//
// The magic byte differs from that of a plain envelope in three bits. So one flipped bit cannot
// turn an encrypted value into a plain one, or a plain one into an encrypted one.
const (
	magicSecret   = 0xE4
	versionSecret = 2
	cipherGCM     = 1
	keyBytes      = 32
	maxKeyID      = 64
	checkBytes    = 4
	nonceBytes    = 12
)

// Keys is a keyring for AES-256-GCM. To change the key, add a new one to Ring and make it
// Current. New values are then encrypted with it. Stored values can be read as long as their key
// is in the ring. [Reseal] rewrites the current state of a thread.
type Keys struct {
	// Current is the id of the key for new values.
	Current string
	// Ring holds the keys by id, 32 random bytes each. Ids have 1 to 64 bytes of UTF-8; they are
	// not encrypted.
	Ring map[string][]byte
	// Plain also reads values that are not encrypted, for a store that once had no keys.
	// Without it such a value is an ErrKey, so an attacker cannot insert one.
	Plain bool

	rand io.Reader // nil means crypto/rand; for tests
}

// NewKey returns 32 random bytes.
func NewKey() []byte {
	key := make([]byte, keyBytes)
	_, _ = rand.Read(key) // it never fails
	return key
}

// check returns an ErrRequest if the keyring is not valid.
func (k *Keys) check() error {
	if _, ok := k.Ring[k.Current]; !ok {
		return fmt.Errorf("%w: the ring must have the current key %q", ErrRequest, k.Current)
	}
	for id, key := range k.Ring {
		if id == "" || len(id) > maxKeyID || !utf8.ValidString(id) {
			return fmt.Errorf("%w: the id of a key must have 1 to %d bytes of UTF-8 (got %.80q)", ErrRequest, maxKeyID, id)
		}
		if len(key) != keyBytes {
			return fmt.Errorf("%w: key %q must have %d bytes (got %d)", ErrRequest, id, keyBytes, len(key))
		}
	}
	return nil
}

// keyring is a private copy of a Keys.
type keyring struct {
	current string
	keys    map[string]ringKey
	plain   bool
	rand    io.Reader
}

type ringKey struct {
	secret [keyBytes]byte
	check  [checkBytes]byte
}

func (k *Keys) ring() *keyring {
	r := &keyring{current: k.Current, keys: map[string]ringKey{}, plain: k.Plain, rand: k.rand}
	if r.rand == nil {
		r.rand = rand.Reader
	}
	for id, secret := range k.Ring {
		key := ringKey{secret: [keyBytes]byte(secret)}
		copy(key.check[:], derive(secret, "weft check"))
		r.keys[id] = key
	}
	return r
}

func derive(key []byte, what string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(what))
	return h.Sum(nil)
}

// aead returns the cipher of a thread.
func (k ringKey) aead(thread string) (cipher.AEAD, error) {
	block, err := aes.NewCipher(derive(k.secret[:], "weft thread "+thread))
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// encrypter encrypts values of one thread with the current key.
type encrypter struct {
	ring *keyring
	head []byte
	aead cipher.AEAD
}

func (r *keyring) encrypter(thread string) (*encrypter, error) {
	key := r.keys[r.current]
	head := append([]byte{magicSecret, versionSecret, cipherGCM, 0, byte(len(r.current))}, r.current...)
	aead, err := key.aead(thread)
	return &encrypter{r, append(head, key.check[:]...), aead}, err
}

func (e *encrypter) encrypt(at spot, data []byte) ([]byte, error) {
	n := len(e.head)
	b := make([]byte, n+nonceBytes, n+nonceBytes+len(data)+e.aead.Overhead())
	copy(b, e.head)
	if _, err := io.ReadFull(e.ring.rand, b[n:]); err != nil {
		return nil, fmt.Errorf("checkpoint: no random numbers: %w", err)
	}
	return e.aead.Seal(b, b[n:], data, associated(e.head, at)), nil
}

// associated returns the associated data of a ciphertext.
func associated(head []byte, at spot) []byte {
	return at.append(bytes.Clone(head))
}

// secretHead splits an encrypted value into the id of its key, the authenticated head, and the
// nonce with the ciphertext.
func secretHead(b []byte) (id string, head, rest []byte, err error) {
	switch {
	case len(b) < 5:
		return "", nil, nil, fmt.Errorf("%w: %d bytes are too few", ErrCorrupt, len(b))
	case b[1] != versionSecret || b[2] != cipherGCM || b[3] != 0:
		return "", nil, nil, fmt.Errorf("%w: encrypted envelope % x", ErrUnsupported, b[:4])
	}
	n := 5 + int(b[4])
	if len(b) < n+checkBytes+nonceBytes || n == 5 || n > 5+maxKeyID {
		return "", nil, nil, fmt.Errorf("%w: %d bytes are too few", ErrCorrupt, len(b))
	}
	return string(b[5:n]), b[:n+checkBytes], b[n+checkBytes:], nil
}

// encrypted returns the error for an encrypted value in a store without keys.
func encrypted(b []byte) error {
	id, _, _, err := secretHead(b)
	if err != nil {
		return err
	}
	return &KeyError{ID: id, Why: "the store has no keys; open it with checkpoint.Sealed"}
}

// decrypt returns the envelope inside an encrypted value.
func (r *keyring) decrypt(at spot, b []byte) ([]byte, error) {
	switch {
	case len(b) == 0:
		return nil, fmt.Errorf("%w: it is empty", ErrCorrupt)
	case b[0] == magic && r.plain:
		return b, nil
	case b[0] == magic:
		return nil, &KeyError{Why: "the value must be encrypted; see Keys.Plain"}
	case b[0] != magicSecret:
		return nil, fmt.Errorf("%w: it begins with % x", ErrCorrupt, b[:1])
	}
	id, head, rest, err := secretHead(b)
	if err != nil {
		return nil, err
	}
	key, ok := r.keys[id]
	switch {
	case !ok:
		return nil, &KeyError{ID: id, Why: "it is not in the ring"}
	case !bytes.HasSuffix(head, key.check[:]):
		return nil, &KeyError{ID: id, Why: "the ring has a different key with this id"}
	}
	aead, err := key.aead(at.thread)
	if err != nil {
		return nil, err
	}
	data, err := aead.Open(nil, rest[:nonceBytes], rest[nonceBytes:], associated(head, at))
	if err != nil {
		return nil, fmt.Errorf("%w: it was not encrypted for this place, or it was changed", ErrCorrupt)
	}
	return data, nil
}
