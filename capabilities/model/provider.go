package model

import (
	"cmp"
	"fmt"
	"time"
)

// Provider opens models by their names, for programs whose models are written down in a file.
type Provider struct {
	// URL is the address of the provider's own server, which is used if none is configured.
	URL string
	// URLVariable and KeyVariable are the environment variables of an address and of a key. A file
	// may omit both.
	URLVariable, KeyVariable string
	// Open returns a model. It sends no request.
	Open func(Config) (Model, error)
	// OpenEmbedder returns an Embedder. It sends no request. nil is a provider without embeddings.
	OpenEmbedder func(Config) (Embedder, error)
}

// Embedder opens an Embedder. The error is an [ErrNoEmbeddings] if the provider has none.
func (p Provider) Embedder(c Config) (Embedder, error) {
	if p.OpenEmbedder == nil {
		return nil, fmt.Errorf("%w: model %q at %s", ErrNoEmbeddings, c.Model, cmp.Or(p.URL, c.URL))
	}
	return p.OpenEmbedder(c)
}

// Config configures a model of a [Provider].
type Config struct {
	Model string
	URL   string // of the server
	Key   string // "" sends none
	// Timeout limits an answer; 0 is the provider's own limit.
	Timeout time.Duration
	// Answers is how an answer that matches a schema is requested: "schema", which is also "", or
	// "object" or "prompt" for servers without it.
	Answers string
}
