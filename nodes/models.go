package nodes

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/graph/workflow"
)

// ModelEntry is an entry of the section models of a file.
//
//	models:
//	  small: {provider: openai, model: gpt-5-mini}
//	  local: {provider: openai, model: qwen3, base_url: "http://localhost:11434/v1"}
//	  other: {provider: openai, model: m1, base_url: "${env:OTHER_URL}", key: "${env:OTHER_KEY}"}
//	  safe:  {provider: openai, model: gpt-5, fallback: [local]}
//
// A key of the environment is sent to the provider's own server, to an address that comes from the
// environment, and to the hosts that the person allows: see [workflow.Env]. It is never sent to
// another server that the file itself names.
type ModelEntry struct {
	// Provider is the name of a provider, such as openai.
	Provider string `json:"provider"`
	// Model is the name of the model at the provider.
	Model string `json:"model"`
	// BaseURL is the address of the server; by default that of the provider's variable, or else the
	// provider's own.
	BaseURL workflow.EnvText `json:"base_url,omitzero"`
	// Key is sent to the server; by default that of the provider's variable.
	Key workflow.Secret `json:"key,omitzero"`
	// Timeout limits an answer; by default 10m.
	Timeout Duration `json:"timeout,omitempty"`
	// Answers is how an answer of a type is requested: schema, or object or prompt for servers
	// without it.
	Answers string `json:"answers,omitempty"`
	// Fallback are the models that answer in this order if this one cannot: see [model.Fallback].
	Fallback []string `json:"fallback,omitempty"`

	provider model.Provider
	all      map[string]model.Provider
	own      bool // the key is that of the provider's variable
}

// modelsSection returns the section models.
func (p Program) modelsSection() workflow.Section {
	providers := p.Providers
	return workflow.Section{
		About: "the models of the kinds llm and agent, by name",
		New:   func() workflow.Entry { return &ModelEntry{all: providers} },
		Params: map[string]string{
			"provider": "the provider of the model",
			"model":    "the name of the model at the provider",
			"base_url": "the address of the server, or ${env:NAME}; by default that of the provider",
			"key":      "${env:NAME} or ${secret:NAME}; by default the variable of the provider",
			"timeout":  "the longest duration of an answer, such as 2m; by default 10m",
			"answers":  "how an answer of a type is requested, for servers without schemas; by default schema",
			"fallback": "the models that answer, in this order, if this one cannot",
		},
		Choices: map[string][]string{
			"provider": slices.Sorted(maps.Keys(providers)),
			"answers":  {"schema", "object", "prompt"},
		},
		Elsewhere: map[string]map[string]string{"provider": elsewhere(providers)},
		Taken:     slices.Sorted(maps.Keys(p.Models)),
	}
}

// providerPrograms are the programs with providers that the stock command line does not have.
var providerPrograms = map[string]string{
	"anthropic": "github.com/weftrun/weft/models/cmd/weft",
	"gemini":    "github.com/weftrun/weft/models/cmd/weft",
}

// elsewhere returns what to do about the providers that this program does not have.
func elsewhere(providers map[string]model.Provider) map[string]string {
	all := map[string]string{}
	for name, program := range providerPrograms {
		if _, ok := providers[name]; !ok {
			all[name] = fmt.Sprintf("use the program %[1]s, this command line with the provider: go install %[1]s@latest; "+
				"a program of your own names it in weftcli.Config.Providers", program)
		}
	}
	return all
}

// Check refuses an invalid address, and finds the provider.
func (m *ModelEntry) Check(func(string) bool) error {
	var known bool
	if m.provider, known = m.all[m.Provider]; !known {
		return &refusal{"this program has no providers of models; a program in Go registers them"}
	}
	if m.Model == "" {
		return &refusal{"model must not be empty"}
	}
	text, literal := m.BaseURL.Literal()
	if !literal {
		m.defaultKey()
		return nil
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return &refusal{fmt.Sprintf("base_url must be an http or https address, not %q", text)}
	case u.User != nil || u.RawQuery != "":
		return &refusal{"base_url must not contain a password or a query; write it as ${env:NAME}"}
	}
	if sameServer(u, m.provider.URL) {
		m.defaultKey()
	}
	return nil
}

// defaultKey uses the key of the provider's variable if the file gives none.
func (m *ModelEntry) defaultKey() {
	if m.Key.IsZero() && m.provider.KeyVariable != "" {
		m.Key, m.own = workflow.FromEnv(m.provider.KeyVariable), true
	}
}

// sameServer reports whether a URL is of the same origin as an address.
func sameServer(u *url.URL, address string) bool {
	own, err := url.Parse(address)
	return err == nil && originOf(u) == originOf(own)
}

// Open returns the model, which reads the environment when it is first used.
func (m *ModelEntry) Open(name string, env workflow.Env) (any, error) {
	return declaredModel{m.opener(name, env), m.Fallback}, nil
}

// declaredModel is the model of an entry, without its fallbacks.
type declaredModel struct {
	model.Model
	fallback []string
}

func (m *ModelEntry) opener(name string, env workflow.Env) model.Func {
	return func(ctx context.Context, r model.Request) iter.Seq2[model.Chunk, error] {
		c, err := m.config(env)
		if err != nil {
			return failed(fmt.Errorf("models.%s: %w", name, err))
		}
		opened, err := m.provider.Open(c)
		if err != nil {
			return failed(fmt.Errorf("models.%s: %w", name, err))
		}
		return opened.Stream(ctx, r)
	}
}

func failed(err error) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) { yield(model.Chunk{}, &refusal{err.Error()}) }
}

// CheckEnv reports a variable that is not set, and a server that must not get the key.
func (m *ModelEntry) CheckEnv(env workflow.Env) error {
	_, err := m.config(env)
	return err
}

// config reads the environment.
func (m *ModelEntry) config(env workflow.Env) (model.Config, error) {
	c := model.Config{Model: m.Model, Timeout: time.Duration(m.Timeout), Answers: m.Answers}
	var err error
	switch {
	case !m.BaseURL.IsZero():
		c.URL, err = env.Text(m.BaseURL)
	default:
		c.URL, _ = env.Lookup(m.provider.URLVariable)
		if c.URL == "" {
			c.URL = m.provider.URL
		}
	}
	if err != nil || m.Key.IsZero() {
		return c, err
	}
	if c.Key, err = env.Reveal(m.Key); err != nil {
		return m.withoutKey(c, err)
	}
	return c, m.mayGetKey(env)
}

// withoutKey returns c if the key may be missing: it is that of the provider's variable, and the
// server is not the provider's own.
func (m *ModelEntry) withoutKey(c model.Config, err error) (model.Config, error) {
	u, perr := url.Parse(c.URL)
	if perr == nil && m.own && !sameServer(u, m.provider.URL) {
		return c, nil
	}
	return c, err
}

// mayGetKey returns an error if the file itself names a server that must not get the key.
func (m *ModelEntry) mayGetKey(env workflow.Env) error {
	text, literal := m.BaseURL.Literal()
	if !literal {
		return nil
	}
	u, err := url.Parse(text)
	if err != nil || sameServer(u, m.provider.URL) || hostAllowed(u, env.AllowHosts) {
		return nil
	}
	return fmt.Errorf("the file names the server %s, which must not get a key of the environment; write base_url as ${env:NAME}, or allow it with --allow-host %s", u.Host, u.Host)
}

// hostAllowed reports whether the host of a URL is among hosts. A host without a port is that of
// https.
func hostAllowed(u *url.URL, hosts []string) bool {
	o := originOf(u)
	return slices.ContainsFunc(hosts, func(host string) bool {
		host = strings.ToLower(host)
		return host == o.host+":"+o.port || host == o.host && o.scheme == "https" && o.port == "443"
	})
}

var (
	_ workflow.Entry   = (*ModelEntry)(nil)
	_ workflow.Checker = (*ModelEntry)(nil)
)
