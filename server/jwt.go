package server

import (
	"crypto/ed25519"
	"crypto/rsa"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// JWT checks signed tokens. A client sends its token as a bearer token. The subject of the token is
// the name of the identity, and its claim scopes or scope has the permissions.
type JWT struct {
	// Key is the key of the issuer: a []byte for HS256, an *rsa.PublicKey for RS256, or an
	// ed25519.PublicKey for EdDSA. A token with any other method is not valid.
	Key any
	// Issuer and Audience, if they are set, must be those of the token.
	Issuer, Audience string
	// Leeway is how far the clocks may differ.
	Leeway time.Duration
	// Optional accepts tokens without an expiry.
	Optional bool
}

// minSecret is the least number of bytes of a secret for HS256.
const minSecret = 32

func (j JWT) method() (string, error) {
	switch key := j.Key.(type) {
	case []byte:
		if len(key) < minSecret {
			return "", fmt.Errorf("%w: a secret for HS256 must have at least %d bytes (got %d)", ErrConfig, minSecret, len(key))
		}
		return "HS256", nil
	case *rsa.PublicKey:
		return "RS256", nil
	case ed25519.PublicKey:
		return "EdDSA", nil
	}
	return "", fmt.Errorf("%w: the key of a JWT must be a []byte, an *rsa.PublicKey or an ed25519.PublicKey (got %T)", ErrConfig, j.Key)
}

// Authenticate finds the identity that a token names.
func (j JWT) Authenticate(r *http.Request) (Identity, error) {
	method, err := j.method()
	if err != nil {
		return Identity{}, err
	}
	options := []jwt.ParserOption{jwt.WithValidMethods([]string{method}), jwt.WithLeeway(j.Leeway)}
	if j.Issuer != "" {
		options = append(options, jwt.WithIssuer(j.Issuer))
	}
	if j.Audience != "" {
		options = append(options, jwt.WithAudience(j.Audience))
	}
	if !j.Optional {
		options = append(options, jwt.WithExpirationRequired())
	}
	claims := jwt.MapClaims{}
	if _, err := jwt.ParseWithClaims(bearer(r), claims, func(*jwt.Token) (any, error) { return j.Key, nil }, options...); err != nil {
		return Identity{}, ErrUnauthorized
	}
	subject, err := claims.GetSubject()
	if err != nil || subject == "" {
		return Identity{}, ErrUnauthorized
	}
	return Identity{Name: subject, Permissions: scopes(claims), Claims: claims}, nil
}

// scopes returns the permissions of a token: a list, or words separated by spaces.
func scopes(claims jwt.MapClaims) (list []string) {
	for _, name := range []string{"scopes", "scope"} {
		switch v := claims[name].(type) {
		case string:
			list = append(list, strings.Fields(v)...)
		case []any:
			for _, e := range v {
				if s, ok := e.(string); ok {
					list = append(list, s)
				}
			}
		}
	}
	return list
}
