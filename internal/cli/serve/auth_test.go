package serve

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/weftrun/weft/server"
)

// publicPEM returns a public key as a file has it.
func publicPEM(t *testing.T, key crypto.PublicKey) []byte {
	t.Helper()
	data, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: data})
}

func TestAuth_AcceptsTokensOfItsKey(t *testing.T) {
	ofRSA, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	secret := []byte("a secret of more than thirty-two bytes")
	for name, c := range map[string]struct {
		file   []byte
		method jwt.SigningMethod
		key    any
	}{
		"RS256": {publicPEM(t, &ofRSA.PublicKey), jwt.SigningMethodRS256, ofRSA},
		"EdDSA": {publicPEM(t, public), jwt.SigningMethodEdDSA, private},
		"HS256": {append(secret, '\n'), jwt.SigningMethodHS256, secret},
	} {
		path := filepath.Join(t.TempDir(), "key")
		if err := os.WriteFile(path, c.file, 0o600); err != nil {
			t.Fatal(err)
		}
		auth, err := Auth{From: "jwt:" + path, Issuer: "us"}.Open()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for issuer, want := range map[string]error{"us": nil, "them": server.ErrUnauthorized} {
			claims := jwt.MapClaims{"sub": "ann", "iss": issuer, "exp": time.Now().Add(time.Hour).Unix()}
			token, err := jwt.NewWithClaims(c.method, claims).SignedString(c.key)
			if err != nil {
				t.Fatal(err)
			}
			r := httptest.NewRequest("GET", "/threads", nil)
			r.Header.Set("Authorization", "Bearer "+token)
			who, err := auth.Authenticate(r)
			if !errors.Is(err, want) || want == nil && who.Name != "ann" {
				t.Errorf("%s: a token of the issuer %s is of %q, %v; want error %v", name, issuer, who.Name, err, want)
			}
		}
	}
}

func TestAuth_RefusesOtherKeys(t *testing.T) {
	ofECDSA, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"a key of ECDSA": string(publicPEM(t, &ofECDSA.PublicKey)),
		"no key":         "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n",
		"a short secret": "short",
	} {
		t.Setenv("WEFT_TEST_KEY", text)
		if _, err := (Auth{From: "jwt:env:WEFT_TEST_KEY"}).Open(); !errors.Is(err, ErrAuth) {
			t.Errorf("%s: got %v, want ErrAuth", name, err)
		}
	}
}
