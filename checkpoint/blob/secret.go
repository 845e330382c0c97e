package blob

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/weftrun/weft/checkpoint"
)

// The first chunk of an encrypted blob begins with a head:
//
//	sealedMagic | length of the key's id | id | salt, 32 bytes
//
// Each chunk is AES-256-GCM, with its number as the nonce and the head as associated data, under
// HMAC-SHA256(key, "weft blob " + salt). No two blobs have the same salt, so no nonce is used
// twice. The name of a blob is HMAC-SHA256(key, "weft blob name " + SHA-256 of the content): it
// does not reveal the content, and the same content is stored once under each key.
const (
	sealedMagic = "\xE4weft sealed blob\x01"
	saltBytes   = 32
)

func isSealed(chunk []byte) bool { return bytes.HasPrefix(chunk, []byte(sealedMagic)) }

// keyring is a private copy of a checkpoint.Keys.
type keyring struct {
	current string
	keys    map[string][]byte
	plain   bool
}

func newKeyring(k *checkpoint.Keys) (*keyring, error) {
	if k == nil {
		return nil, fmt.Errorf("%w: the keys must not be nil", checkpoint.ErrRequest)
	}
	if _, err := checkpoint.Sealed(new(checkpoint.Memory), checkpoint.Codec{Keys: k}); err != nil {
		return nil, err // the keys are not valid
	}
	r := &keyring{current: k.Current, keys: map[string][]byte{}, plain: k.Plain}
	for id, key := range k.Ring {
		r.keys[id] = bytes.Clone(key)
	}
	return r, nil
}

func derive(key []byte, what string, more []byte) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(what))
	h.Write(more)
	return h.Sum(nil)
}

// name returns the name of a content with this SHA-256 under the current key.
func (k *keyring) name(sum []byte) []byte { return nameUnder(k.keys[k.current], sum) }

func nameUnder(key, sum []byte) []byte { return derive(key, "weft blob name ", sum) }

// sealer encrypts the chunks of one blob.
type sealer struct {
	head []byte
	aead cipher.AEAD
}

func (k *keyring) sealer() (*sealer, error) {
	head := append([]byte(sealedMagic), byte(len(k.current)))
	head = append(head, k.current...)
	salt := make([]byte, saltBytes)
	_, _ = rand.Read(salt) // it never fails
	aead, err := blobCipher(k.keys[k.current], salt)
	return &sealer{append(head, salt...), aead}, err
}

func blobCipher(key, salt []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(derive(key, "weft blob ", salt))
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

func nonce(n int) []byte { return binary.BigEndian.AppendUint64(make([]byte, 4, 12), uint64(n)) }

func (s *sealer) seal(n int, data []byte) ([]byte, error) {
	var b []byte
	if n == 0 {
		b = append(make([]byte, 0, len(s.head)+len(data)+s.aead.Overhead()), s.head...)
	}
	return s.aead.Seal(b, nonce(n), data, s.head), nil
}

// opener decrypts the chunks of one blob.
type opener struct {
	key, head []byte
	aead      cipher.AEAD
}

// opener returns the opener for the blob with this first chunk. A nil keyring has no keys.
func (k *keyring) opener(first []byte) (*opener, error) {
	if !isSealed(first) {
		return nil, &checkpoint.KeyError{Why: "the blob must be encrypted; see Keys.Plain"}
	}
	at := len(sealedMagic) + 1
	if len(first) < at || len(first) < at+int(first[at-1])+saltBytes {
		return nil, fmt.Errorf("%w: %d bytes are too few", checkpoint.ErrCorrupt, len(first))
	}
	end := at + int(first[at-1])
	id := string(first[at:end])
	if k == nil {
		return nil, &checkpoint.KeyError{ID: id, Why: "the blobs have no keys; open them with Store.Sealed"}
	}
	key, ok := k.keys[id]
	if !ok {
		return nil, &checkpoint.KeyError{ID: id, Why: "it is not in the ring"}
	}
	head := bytes.Clone(first[:end+saltBytes])
	aead, err := blobCipher(key, head[end:])
	return &opener{key, head, aead}, err
}

func (o *opener) open(n int, data []byte) ([]byte, error) {
	if n == 0 {
		data = data[len(o.head):]
	}
	plain, err := o.aead.Open(data[:0], nonce(n), data, o.head)
	if err != nil {
		return nil, fmt.Errorf("%w: chunk %d cannot be decrypted: it was changed, or its key has another id", checkpoint.ErrCorrupt, n)
	}
	return plain, nil
}

func (o *opener) name(sum []byte) []byte { return nameUnder(o.key, sum) }
