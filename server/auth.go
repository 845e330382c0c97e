package server

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/weftrun/weft/server/wire"
)

// Auth decides who may do what. The zero Auth allows everything to every request.
type Auth struct {
	// Authenticate returns the identity of the caller, or an error that is ErrUnauthorized. Any
	// other error is a 500. Nil accepts every request. It is called for each request but those to
	// /ok, /info, /docs and /openapi.json. See Keys and JWT.
	Authenticate func(r *http.Request) (Identity, error)
	// Rules decide by action. The most specific rule decides alone: resource:action, resource,
	// *:action, *. An action without a rule is allowed.
	Rules Rules
}

// Identity is a caller.
type Identity struct {
	Name        string         `json:"identity"`
	Permissions []string       `json:"permissions,omitempty"`
	Claims      map[string]any `json:"claims,omitempty"` // of its token
}

// May reports whether the identity has one of the permissions.
func (i Identity) May(permissions ...string) bool {
	return slices.ContainsFunc(permissions, func(p string) bool { return slices.Contains(i.Permissions, p) })
}

// Rules are rules by action.
type Rules map[string]Rule

// A Rule decides whether a caller may do something. It returns ErrForbidden, or a Filter for the
// metadata of everything that the action reads or changes. Nil accepts everything.
type Rule func(ctx context.Context, who Identity, a *Access) (Filter, error)

// Access is what a caller is about to do.
type Access struct {
	// Resource and Action are such as threads and create_run.
	Resource, Action string
	// ID is the id of the resource; "" if there is none yet, or several.
	ID string
	// Metadata are what a request writes. A Rule may change them, for example to set an owner. They
	// are nil if the action writes none.
	Metadata map[string]any
	// Namespace is that of an item.
	Namespace []string
}

func (a *Access) String() string { return a.Resource + ":" + a.Action }

// find returns the most specific rule, or nil.
func (r Rules) find(a *Access) Rule {
	for _, name := range []string{a.String(), a.Resource, "*:" + a.Action, "*"} {
		if rule := r[name]; rule != nil {
			return rule
		}
	}
	return nil
}

// Owners are rules by which each identity has its own threads, assistants and crons, and its own
// items: those whose namespace has the identity as a label. The owner of a resource is in its
// metadata.
var Owners = Rules{
	"*":     ownResource,
	"store": ownNamespace,
}

const ownerKey = "owner"

func ownResource(_ context.Context, who Identity, a *Access) (Filter, error) {
	if a.Metadata != nil {
		a.Metadata[ownerKey] = who.Name
	}
	return Filter{ownerKey: who.Name}, nil
}

func ownNamespace(_ context.Context, who Identity, a *Access) (Filter, error) {
	if len(a.Namespace) > 0 && !slices.Contains(a.Namespace, who.Name) {
		return nil, ErrForbidden
	}
	return Filter{"namespace": map[string]any{"$contains": who.Name}}, nil
}

// authenticate finds who makes the request.
func (c *call) authenticate() error {
	if c.server.config.Auth.Authenticate == nil {
		return nil
	}
	who, err := c.server.config.Auth.Authenticate(c.Request)
	if err != nil {
		return err
	}
	c.who = who
	return nil
}

// allow asks the rules about an action that writes no metadata.
func (c *call) allow(resource, action, id string) (Filter, error) {
	return c.ask(&Access{Resource: resource, Action: action, ID: id})
}

// allowWrite asks the rules about an action that writes metadata, and returns these as the rules
// left them.
func (c *call) allowWrite(resource, action, id string, metadata wire.Object) (wire.Object, Filter, error) {
	a := &Access{Resource: resource, Action: action, ID: id, Metadata: map[string]any{}}
	if c.server.config.Auth.Rules.find(a) == nil {
		return metadata, nil, nil
	}
	for key, v := range decoded(metadata) {
		a.Metadata[key] = v
	}
	filter, err := c.ask(a)
	if err != nil {
		return nil, nil, err
	}
	changed := wire.Object{}
	for key, v := range a.Metadata {
		if changed[key], err = encode(v); err != nil {
			return nil, nil, fmt.Errorf("server: the metadata of the rule of %v: %w", a, err)
		}
	}
	return changed, filter, nil
}

func (c *call) ask(a *Access) (Filter, error) {
	rule := c.server.config.Auth.Rules.find(a)
	if rule == nil {
		return nil, nil
	}
	return rule(c.Context(), c.who, a)
}
