package model

import (
	"fmt"
	"net/url"
	"time"
)

// Provider opens models by their names, for programs whose models are written down in a file.
type Provider struct {
	// URL is the address of the provider's server, unless Config.URL names another.
	URL string
	// URLVariable and KeyVariable name the environment variables that hold the address and the key
	// if a file gives none.
	URLVariable, KeyVariable string
	// Open returns a model. It sends no request.
	Open func(Config) (Model, error)
	// OpenEmbedder returns an Embedder. It sends no request. It is nil if the provider
	// has no embeddings.
	OpenEmbedder func(Config) (Embedder, error)
}

// Embedder opens an Embedder. The error wraps [ErrNoEmbeddings] if the provider has none.
func (p Provider) Embedder(c Config) (Embedder, error) {
	if p.OpenEmbedder == nil {
		return nil, fmt.Errorf("%w: model %q at %s", ErrNoEmbeddings, c.Model, p.server(c))
	}
	return p.OpenEmbedder(c)
}

// server returns the address of the server, without a password.
func (p Provider) server(c Config) string {
	if u, err := url.Parse(c.URL); err == nil && c.URL != "" {
		return u.Redacted()
	}
	return p.URL
}

// Config configures a model of a [Provider].
type Config struct {
	Model string
	URL   string // of the server
	Key   string // "" sends none
	// Timeout limits a call; 0 is the provider's default.
	Timeout time.Duration
	// Answers is how an answer that matches a schema is requested: "schema", which is also "", or
	// "object" or "prompt" for servers without it.
	Answers string
}
