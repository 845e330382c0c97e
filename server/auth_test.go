package server_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/server"
)

func sign(t *testing.T, method jwt.SigningMethod, key any, claims jwt.MapClaims) string {
	t.Helper()
	text, err := jwt.NewWithClaims(method, claims).SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func withToken(token string) *http.Request {
	r := httptest.NewRequest("GET", "/", nil)
	r.Header.Set("Authorization", "Bearer "+token)
	return r
}

func TestJWT_AcceptsItsMethodAlone(t *testing.T) {
	secret := []byte(strings.Repeat("s", 32))
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	edPublic, edKey, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	in := func(d time.Duration) int64 { return time.Now().Add(d).Unix() }
	good := jwt.MapClaims{"sub": "ada", "exp": in(time.Hour), "iss": "i", "aud": "a", "scopes": []string{"read", "write"}}
	with := func(key string, v any) jwt.MapClaims {
		c := jwt.MapClaims{}
		for k, old := range good {
			c[k] = old
		}
		if c[key] = v; v == nil {
			delete(c, key)
		}
		return c
	}
	hs := server.JWT{Key: secret, Issuer: "i", Audience: "a"}
	rs, ed := server.JWT{Key: &rsaKey.PublicKey}, server.JWT{Key: edPublic}
	for _, tt := range []struct {
		name  string
		check server.JWT
		token string
		ok    bool
	}{
		{"HS256", hs, sign(t, jwt.SigningMethodHS256, secret, good), true},
		{"RS256", rs, sign(t, jwt.SigningMethodRS256, rsaKey, good), true},
		{"EdDSA", ed, sign(t, jwt.SigningMethodEdDSA, edKey, good), true},
		{"another secret", hs, sign(t, jwt.SigningMethodHS256, []byte("x"), good), false},
		{"another method", hs, sign(t, jwt.SigningMethodHS512, secret, good), false},
		{"no method", hs, sign(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, good), false},
		{"HS256 for RS256", rs, sign(t, jwt.SigningMethodHS256, secret, good), false},
		{"expired", hs, sign(t, jwt.SigningMethodHS256, secret, with("exp", in(-time.Hour))), false},
		{"not yet valid", hs, sign(t, jwt.SigningMethodHS256, secret, with("nbf", in(time.Hour))), false},
		{"no expiry", hs, sign(t, jwt.SigningMethodHS256, secret, with("exp", nil)), false},
		{"no expiry needed", server.JWT{Key: secret, Optional: true}, sign(t, jwt.SigningMethodHS256, secret, with("exp", nil)), true},
		{"another issuer", hs, sign(t, jwt.SigningMethodHS256, secret, with("iss", "x")), false},
		{"another audience", hs, sign(t, jwt.SigningMethodHS256, secret, with("aud", "x")), false},
		{"no subject", hs, sign(t, jwt.SigningMethodHS256, secret, with("sub", nil)), false},
		{"no token", hs, "", false},
	} {
		who, err := tt.check.Authenticate(withToken(tt.token))
		switch {
		case tt.ok && (err != nil || who.Name != "ada" || !who.May("write") || who.May("admin")):
			t.Errorf("%s: got %+v and %v, want ada with her permissions", tt.name, who, err)
		case !tt.ok && !errors.Is(err, server.ErrUnauthorized):
			t.Errorf("%s: got %v, want ErrUnauthorized", tt.name, err)
		}
	}
	if _, err := (server.JWT{Key: []byte("short")}).Authenticate(withToken("")); !errors.Is(err, server.ErrConfig) {
		t.Errorf("a short secret: got %v, want ErrConfig", err)
	}
}

func TestReadKeys_AcceptsHashes(t *testing.T) {
	hash := sha256.Sum256([]byte("key-1"))
	k, err := server.ReadKeys(strings.NewReader("# keys\n\nada " + hex.EncodeToString(hash[:]) + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest("GET", "/", nil)
	if _, err := k.Authenticate(r); !errors.Is(err, server.ErrUnauthorized) {
		t.Errorf("no key: got %v, want ErrUnauthorized", err)
	}
	r.Header.Set("X-Api-Key", "key-1")
	if who, err := k.Authenticate(r); err != nil || who.Name != "ada" {
		t.Errorf("the key of ada: got %v and %v", who, err)
	}
	if who, err := k.Authenticate(withToken("key-1")); err != nil || who.Name != "ada" {
		t.Errorf("the key of ada as a bearer token: got %v and %v", who, err)
	}
	if _, err := k.Authenticate(withToken("key-2")); !errors.Is(err, server.ErrUnauthorized) {
		t.Errorf("an unknown key: got %v, want ErrUnauthorized", err)
	}
	for _, bad := range []string{"ada", "ada xyz", "ada " + strings.Repeat("z", 64)} {
		if _, err := server.ReadKeys(strings.NewReader(bad)); !errors.Is(err, server.ErrConfig) {
			t.Errorf("ReadKeys(%q): got %v, want ErrConfig", bad, err)
		}
	}
}

// owners is a server on which each identity has its own resources.
func owners(t *testing.T) *client {
	keys := &server.Keys{}
	keys.Add("ada", "key-a")
	keys.Add("bob", "key-b")
	return newClient(t, newServer(t, &checkpoint.Memory{}, func(c *server.Config) {
		c.Auth = server.Auth{Authenticate: keys.Authenticate, Rules: server.Owners}
	}))
}

// Requirement: Records of others do not exist
func TestOwners_SeeTheirOwnAlone(t *testing.T) {
	const ada, bob = "X-Api-Key: key-a", "X-Api-Key: key-b"
	c := owners(t)
	for _, s := range []step{
		{request: "GET /ok", status: 200},
		{request: "GET /info", status: 200},
		{request: "GET /metrics", status: 401},
		{request: "POST /threads", status: 401, want: "code=unauthorized\nheader WWW-Authenticate=Bearer"},
		{request: "POST /threads", header: "X-Api-Key: wrong", status: 401},
		{request: "POST /threads", body: `{"metadata":{"owner":"bob","n":1}}`, header: ada, status: 200, want: "metadata={\"n\":1,\"owner\":\"ada\"}", save: "t=thread_id"},
		{request: "GET /threads/{t}", header: ada, status: 200},
		{request: "GET /threads/{t}", header: bob, status: 404},
		{request: "GET /threads/{t}/storage", header: bob, status: 404},
		{request: "PATCH /threads/{t}", body: `{"metadata":{"x":1}}`, header: bob, status: 404},
		{request: "PATCH /threads/{t}", body: `{"metadata":{"owner":"bob"}}`, header: ada, status: 200, want: "metadata.owner=ada"},
		{request: "POST /threads/{t}/copy", header: bob, status: 409},
		{request: "POST /threads/{t}/copy", header: ada, status: 200, want: "metadata.owner=ada"},
		{request: "DELETE /threads/{t}", header: bob, status: 404},
		{request: "POST /threads", body: `{"thread_id":"{t}","if_exists":"do_nothing"}`, header: bob, status: 409},
		{request: "POST /threads/search", header: bob, status: 200, want: "=[]\nheader X-Pagination-Total=0"},
		{request: "POST /threads/count", header: ada, status: 200, want: "=2"},
		{request: "POST /threads/prune", body: `{"thread_ids":["{t}"]}`, header: bob, status: 200, want: "pruned_count=0"},
		{request: "POST /assistants", body: `{"graph_id":"agent"}`, header: ada, status: 200, want: "metadata.owner=ada", save: "a=assistant_id"},
		{request: "GET /assistants/{a}", header: bob, status: 404},
		{request: "PATCH /assistants/{a}", body: `{}`, header: bob, status: 404},
		{request: "DELETE /assistants/{a}", header: bob, status: 404},
		{request: "POST /assistants/{a}/versions", header: bob, status: 404},
		{request: "POST /assistants/{a}/latest", body: `{"version":1}`, header: bob, status: 404},
		{request: "POST /assistants/search", header: bob, status: 200, want: "=[]"},
		{request: "POST /assistants/count", header: ada, status: 200, want: "=1"},
		{request: "PUT /store/items", body: `{"namespace":["users","ada"],"key":"k","value":{}}`, header: ada, status: 204},
		{request: "PUT /store/items", body: `{"namespace":["users","ada"],"key":"k","value":{}}`, header: bob, status: 403, want: "code=forbidden"},
		{request: "GET /store/items?namespace=users.ada&key=k", header: bob, status: 403},
		{request: "POST /store/items/search", header: bob, status: 200, want: "items.#=0"},
		{request: "POST /store/items/search", header: ada, status: 200, want: "items.#=1"},
		{request: "POST /store/items/search", body: `{"namespace_prefix":["users"]}`, header: ada, status: 403},
		{request: "POST /store/namespaces", header: bob, status: 200, want: `={"namespaces":[]}`},
		{request: "POST /store/namespaces", body: `{"max_depth":1}`, header: ada, status: 200, want: `={"namespaces":[["users"]]}`},
		{request: "DELETE /store/items", body: `{"namespace":["users","ada"],"key":"k"}`, header: bob, status: 403},
	} {
		c.do(s)
	}
}

// A caller that may read all threads and change its own ends no run of another.
func TestRules_AReaderCancelsNothing(t *testing.T) {
	const ada, bob = "X-Api-Key: key-a", "X-Api-Key: key-b"
	keys := &server.Keys{}
	keys.Add("ada", "key-a")
	keys.Add("bob", "key-b")
	own := server.Owners["*"]
	c := newClient(t, newServer(t, &checkpoint.Memory{}, func(c *server.Config) {
		c.Auth = server.Auth{Authenticate: keys.Authenticate, Rules: server.Rules{"threads:create": own, "threads:create_run": own, "threads:update": own}}
	}))
	cancel := `{"jsonrpc":"2.0","id":1,"method":"tasks/cancel","params":{"id":"{t}:{r}"}}`
	for _, s := range []step{
		{request: "POST /threads", header: ada, status: 200, save: "t=thread_id"},
		{request: "POST /threads/{t}/runs", body: `{"assistant_id":"agent","input":{}}`, header: ada, status: 200, save: "r=run_id"},
		{request: "GET /threads/{t}/runs/{r}", header: bob, status: 200},
		{request: "POST /threads/{t}/runs/{r}/cancel", header: bob, status: 404},
		{request: "POST /a2a/agent", body: cancel, header: bob, status: 200, want: "error.code=-32001"},
		{request: "GET /threads/{t}/runs/{r}/join?cancel_on_disconnect=1", header: bob, status: 404},
		{request: "GET /threads/{t}/runs/{r}", header: ada, status: 200, want: "status=pending"},
		{request: "POST /a2a/agent", body: cancel, header: ada, status: 200, want: "result.status.state=canceled"},
		{request: "GET /threads/{t}/runs/{r}/join", header: bob, status: 200},
		{request: "GET /threads/{t}/runs/{r}/join?cancel_on_disconnect=1", header: bob, status: 404},
	} {
		c.do(s)
	}
	stream := c.do(step{request: "GET /threads/{t}/runs/{r}/stream?cancel_on_disconnect=1", header: bob, status: 200})
	if !strings.Contains(stream.Body.String(), "404: Run not found") {
		t.Errorf("the stream is %s", stream.Body)
	}
}

func TestRules_TheMostSpecificDecides(t *testing.T) {
	var asked []string
	rule := func(name string) server.Rule {
		return func(_ context.Context, _ server.Identity, a *server.Access) (server.Filter, error) {
			asked = append(asked, name)
			return nil, nil
		}
	}
	c := newClient(t, newServer(t, &checkpoint.Memory{}, func(c *server.Config) {
		c.Auth.Rules = server.Rules{
			"threads:create": rule("threads:create"), "threads": rule("threads"), "*:search": rule("*:search"), "*": rule("*"),
		}
	}))
	c.do(step{request: "POST /threads", status: 200, save: "t=thread_id"})
	c.do(step{request: "GET /threads/{t}", status: 200})
	c.do(step{request: "POST /assistants/count", status: 200})
	c.do(step{request: "GET /assistants/agent", status: 200})
	if got := strings.Join(asked, " "); got != "threads:create threads *:search *" {
		t.Errorf("the rules were asked as %s", got)
	}
}

func TestRules_FiltersOfRules(t *testing.T) {
	for _, tt := range []struct {
		filter server.Filter
		want   int
	}{
		{server.Filter{"n": 1}, 200},
		{server.Filter{"n": 2}, 404},
		{server.Filter{"n": map[string]any{"$eq": 1}}, 200},
		{server.Filter{"tags": map[string]any{"$contains": "a"}}, 200},
		{server.Filter{"tags": map[string]any{"$contains": []string{"a", "b"}}}, 200},
		{server.Filter{"tags": map[string]any{"$contains": []string{"a", "c"}}}, 404},
		{server.Filter{"n": map[string]any{"$contains": 1}}, 404},
		{server.Filter{"n": map[string]any{"$near": 1}}, 404},
		{server.Filter{"none": 1}, 404},
	} {
		c := newClient(t, newServer(t, &checkpoint.Memory{}, func(c *server.Config) {
			c.Auth.Rules = server.Rules{"threads:read": func(context.Context, server.Identity, *server.Access) (server.Filter, error) {
				return tt.filter, nil
			}}
		}))
		c.do(step{request: "POST /threads", body: `{"metadata":{"n":1,"tags":["a","b"]}}`, status: 200, save: "t=thread_id"})
		if w := c.send(step{request: "GET /threads/{t}"}); w.Code != tt.want {
			t.Errorf("filter %v: status %d, want %d", tt.filter, w.Code, tt.want)
		}
	}
}

// Requirement: Concurrent changes of records
func TestAssistants_ConcurrentVersionsAreAllThere(t *testing.T) {
	s := newServer(t, &checkpoint.Memory{})
	const writers = 8
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			newClient(t, s).send(step{request: "PATCH /assistants/agent", body: `{"name":"x"}`})
		})
	}
	wg.Wait()
	c := newClient(t, s)
	w := c.do(step{request: "POST /assistants/agent/versions", body: `{"limit":100}`, status: 200})
	if got := w.Header().Get("X-Pagination-Total"); got != "9" {
		t.Errorf("the assistant has %s versions after %d changes, want 9: %s", got, writers, w.Body)
	}
	newest := w.Body.String()
	c.do(step{request: "GET /assistants/agent", status: 200, save: "v=version"})
	if !strings.Contains(newest, `"version":`+c.saved["v"]) {
		t.Errorf("version %s of the assistant is not in its list", c.saved["v"])
	}
}
