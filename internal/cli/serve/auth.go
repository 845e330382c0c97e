package serve

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/weftrun/weft/server"
)

// ErrAuth is returned for a way to authenticate that does not exist, or whose keys cannot be read.
var ErrAuth = errors.New("invalid auth")

// Auth is how callers are authenticated.
type Auth struct {
	// From is KIND:FILE or KIND:env:NAME. The kind is keys, for API keys as server.ReadKeys reads
	// them, or jwt, for the public key of an issuer in PEM, or the secret of HS256.
	From string
	// Issuer and Audience are those that a token must have; "" accepts each.
	Issuer, Audience string
}

// Open reads the keys. Each caller has its own threads, assistants, crons and items.
func (a Auth) Open() (server.Auth, error) {
	kind, from, _ := strings.Cut(a.From, ":")
	if kind != "keys" && kind != "jwt" {
		return server.Auth{}, fmt.Errorf("%w: the kind must be keys or jwt (got %q)", ErrAuth, kind)
	}
	text, err := read(from)
	if err != nil {
		return server.Auth{}, err
	}
	own := server.Auth{Rules: server.Owners}
	if kind == "jwt" {
		key, err := verificationKey(text)
		own.Authenticate = server.JWT{Key: key, Issuer: a.Issuer, Audience: a.Audience}.Authenticate
		return own, err
	}
	keys, err := server.ReadKeys(bytes.NewReader(text))
	if err != nil {
		return own, fmt.Errorf("%w: %w", ErrAuth, err)
	}
	own.Authenticate = keys.Authenticate
	return own, nil
}

// read returns the content of a file, or of a variable of the environment.
func read(from string) ([]byte, error) {
	if name, ok := strings.CutPrefix(from, "env:"); ok {
		text := os.Getenv(name)
		if text == "" {
			return nil, fmt.Errorf("%w: the environment variable %s must be set", ErrAuth, name)
		}
		return []byte(text), nil
	}
	text, err := os.ReadFile(from)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAuth, err)
	}
	return text, nil
}

// minSecret is the least number of bytes of a secret of HS256.
const minSecret = 32

// verificationKey reads a public key in PEM, or else a secret.
func verificationKey(text []byte) (any, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		secret := bytes.TrimSpace(text)
		if len(secret) < minSecret {
			return nil, fmt.Errorf("%w: a secret must have at least %d bytes (got %d)", ErrAuth, minSecret, len(secret))
		}
		return secret, nil
	}
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%w: the PEM must have a public key: %w", ErrAuth, err)
	}
	switch key.(type) {
	case *rsa.PublicKey, ed25519.PublicKey:
		return key, nil
	}
	return nil, fmt.Errorf("%w: the public key must be of RSA or Ed25519 (got %T)", ErrAuth, key)
}
