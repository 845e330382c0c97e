package nodes

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/capabilities/recording"
	"github.com/weftrun/weft/checkpoint/memory"
	"github.com/weftrun/weft/graph/workflow"
)

// EmbedderEntry is an entry of the section embedders of a file: a model that makes vectors of
// texts. The rules for keys are those of [ModelEntry].
//
//	embedders:
//	  small: {provider: openai, model: text-embedding-3-small, dims: 1536}
type EmbedderEntry struct {
	// Provider is the name of a provider, such as openai.
	Provider string `json:"provider"`
	// Model is the name of the model at the provider.
	Model string `json:"model"`
	// Dims is the length of its vectors.
	Dims int `json:"dims"`
	// BaseURL is the address of the server; by default that of the provider's variable, or else the
	// provider's own.
	BaseURL workflow.EnvText `json:"base_url,omitzero"`
	// Key is sent to the server; by default that of the provider's variable.
	Key workflow.Secret `json:"key,omitzero"`
	// Timeout limits a request; by default 10m.
	Timeout Duration `json:"timeout,omitempty"`

	all      map[string]model.Provider
	provider model.Provider
	own      bool
}

// embeddersSection returns the section embedders.
func (p Program) embeddersSection() workflow.Section {
	providers := maps.Clone(p.Providers)
	other := elsewhere(p.Providers)
	delete(other, "anthropic") // it has no embeddings
	maps.DeleteFunc(providers, func(_ string, p model.Provider) bool { return p.OpenEmbedder == nil })
	return workflow.Section{
		About: "the models that make vectors of texts, by name",
		New:   func() workflow.Entry { return &EmbedderEntry{all: providers} },
		Params: map[string]string{
			"provider": "the provider of the model",
			"model":    "the name of the model at the provider",
			"dims":     "the length of its vectors",
			"base_url": "the address of the server, or ${env:NAME}; by default that of the provider",
			"key":      "${env:NAME} or ${secret:NAME}; by default the variable of the provider",
			"timeout":  "the longest duration of a request, such as 2m; by default 10m",
		},
		Choices:   map[string][]string{"provider": slices.Sorted(maps.Keys(providers))},
		Elsewhere: map[string]map[string]string{"provider": other},
	}
}

// entry returns the model that makes the vectors.
func (e *EmbedderEntry) entry() *ModelEntry {
	return &ModelEntry{
		Provider: e.Provider, Model: e.Model, BaseURL: e.BaseURL, Key: e.Key, Timeout: e.Timeout,
		all: e.all, provider: e.provider, own: e.own,
	}
}

// Check refuses an invalid address or length, and finds the provider.
func (e *EmbedderEntry) Check(given func(string) bool) error {
	if e.Dims < 1 || e.Dims > memory.MaxDims {
		return &refusal{fmt.Sprintf("dims must be between 1 and %d (got %d)", memory.MaxDims, e.Dims)}
	}
	m := e.entry()
	if err := m.Check(given); err != nil {
		return err
	}
	e.Key, e.provider, e.own = m.Key, m.provider, m.own
	return nil
}

// Open returns an [*Embedding], which reads the environment when it is first used.
func (e *EmbedderEntry) Open(name string, env workflow.Env) (any, error) {
	return &Embedding{entry: e, name: name, env: env}, nil
}

// CheckEnv reports a variable that is not set, and a server that must not get the key.
func (e *EmbedderEntry) CheckEnv(env workflow.Env) error { return e.entry().CheckEnv(env) }

// Embedding is an embedder that a file declares, whose calls a test can record.
type Embedding struct {
	entry *EmbedderEntry
	name  string
	env   workflow.Env
}

// Dims returns the length of the vectors.
func (e *Embedding) Dims() int { return e.entry.Dims }

// CheckEnv reports what the environment lacks for it.
func (e *Embedding) CheckEnv() error {
	if err := e.entry.CheckEnv(e.env); err != nil {
		return fmt.Errorf("embedders.%s: %w", e.name, err)
	}
	return nil
}

// Documents returns the vectors of texts that are to be found.
func (e *Embedding) Documents(ctx context.Context, texts []string) ([][]float32, error) {
	return e.embed(ctx, texts, model.ForDocument)
}

// Questions returns the vectors of texts that are looked for.
func (e *Embedding) Questions(ctx context.Context, texts []string) ([][]float32, error) {
	return e.embed(ctx, texts, model.ForQuery)
}

func (e *Embedding) embed(ctx context.Context, texts []string, purpose model.Purpose) ([][]float32, error) {
	got, err := recording.Embedder(e.name, model.EmbedFunc(e.open)).Embed(ctx, model.EmbedRequest{Texts: texts, Purpose: purpose})
	return got.Vectors, err
}

// open calls the model, with a key of the environment.
func (e *Embedding) open(ctx context.Context, r model.EmbedRequest) (got model.Embeddings, err error) {
	c, err := e.entry.entry().config(e.env)
	if err != nil {
		return got, fmt.Errorf("embedders.%s: %w", e.name, err)
	}
	m, err := e.entry.provider.Embedder(c)
	if err != nil {
		return got, fmt.Errorf("embedders.%s: %w", e.name, err)
	}
	return m.Embed(ctx, r)
}

// Index returns a store whose items are found by meaning too.
func (e *Embedding) Index(s memory.Store, fields ...string) *memory.Index {
	return &memory.Index{Store: s, Embed: e.Documents, Ask: e.Questions, Dims: e.Dims(), Fields: fields}
}

var (
	_ workflow.Entry   = (*EmbedderEntry)(nil)
	_ workflow.Checker = (*EmbedderEntry)(nil)
)
