package graph

import (
	"context"
	"crypto/ed25519"
	"fmt"

	"github.com/weftrun/weft/checkpoint"
)

// Signature is an Ed25519 signature of a decision. It covers the decision as it is stored, and the
// other fields of the Signature.
type Signature struct {
	// Origin is the Record.Origin of the thread. A copy of the thread has the same.
	Origin string `json:"origin"`
	// Commit is the newest commit when the decision was made, if commits carry hashes. So the
	// decision also signs the history before it.
	Commit *checkpoint.Link `json:"commit,omitempty"`
	Key    []byte           `json:"key"`   // the public key, 32 bytes
	Value  []byte           `json:"value"` // 64 bytes
}

// signer has a private key, which it does not show.
type signer struct{ key ed25519.PrivateKey }

func (s signer) String() string {
	if s.key == nil {
		return "none"
	}
	return "a key"
}

func (s signer) GoString() string { return s.String() }

type signerKey struct{}

// WithSigner returns a context in which the decisions of calls are signed: the owner of the key
// vouches for them. [VerifyThread] checks the signatures. Calls return ErrSigner unless the key has
// 64 bytes. A call that a node makes does not see the key.
func WithSigner(ctx context.Context, key ed25519.PrivateKey) context.Context {
	return context.WithValue(ctx, signerKey{}, signer{key})
}

func (s signer) check() error {
	if s.key != nil && len(s.key) != ed25519.PrivateKeySize {
		return fmt.Errorf("%w (got %d)", ErrSigner, len(s.key))
	}
	return nil
}
