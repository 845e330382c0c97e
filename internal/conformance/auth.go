package main

import (
	"context"
	"net/http"
	"slices"

	"github.com/weftrun/weft/server"
)

// secret signs the tokens of the suite.
const secret = "09d25e094faa6ca2556c818166b7a9563b93f7099f6f0f4caa6cf63b88e8d3e7"

// authSuite has the agents of the API tests for users with tokens.
func authSuite(b *builder) {
	addAgents(b)
	b.config.Auth = server.Auth{Authenticate: authenticate, Rules: server.Rules{
		"*": func(_ context.Context, who server.Identity, _ *server.Access) (server.Filter, error) {
			if len(who.Permissions) == 0 {
				return nil, server.ErrForbidden
			}
			return nil, nil
		},
		"assistants":        owned,
		"assistants:create": needs("assistants:write"),
		"assistants:search": owned,
		"threads":           owned,
		"threads:create":    needs("me", "threads:write", "threads:*"),
		"store":             server.Owners["store"],
	}}
}

func owned(ctx context.Context, who server.Identity, a *server.Access) (server.Filter, error) {
	return server.Owners["*"](ctx, who, a)
}

// needs returns the rule of an owner who needs one of the permissions.
func needs(permissions ...string) server.Rule {
	return func(ctx context.Context, who server.Identity, a *server.Access) (server.Filter, error) {
		if !who.May(permissions...) {
			return nil, server.ErrForbidden
		}
		return owned(ctx, who, a)
	}
}

// authenticate finds the user of a token, with those of its permissions that users can have.
func authenticate(r *http.Request) (server.Identity, error) {
	who, err := server.JWT{Key: []byte(secret)}.Authenticate(r)
	if err != nil {
		return who, err
	}
	if !slices.Contains([]string{"johndoe", "alice"}, who.Name) {
		return who, server.ErrUnauthorized
	}
	who.Permissions = slices.DeleteFunc(who.Permissions, func(p string) bool {
		return !slices.Contains([]string{"read", "write", "assistants:write", "me"}, p)
	})
	return who, nil
}
