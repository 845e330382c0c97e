package openai_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/capabilities/model/openai"
	"github.com/weftrun/weft/internal/modeltest"
	"github.com/weftrun/weft/internal/recordedhttp"
)

const key = "sk-secret-123"

// newYear is the time of the tests' clock.
var newYear = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// provider opens models with a configuration that is empty otherwise.
var provider = modeltest.Provider{
	Key: key, Never: []model.Kind{model.Truncated},
	Open: func(url string, c *http.Client) (model.Model, error) { return openAt(openai.Config{}, url, c) },
}

func openAt(cfg openai.Config, url string, c *http.Client) (*openai.Model, error) {
	if cfg.Model == "" {
		cfg.Model = "m"
	}
	cfg.BaseURL, cfg.Client, cfg.Key, cfg.Now = url, c, key, func() time.Time { return newYear }
	return openai.New(cfg)
}

// connect returns a model with a server that plays cases on a local port.
func connect(t *testing.T, cfg openai.Config, cases ...recordedhttp.Case) (*openai.Model, *recordedhttp.Server) {
	t.Helper()
	url, c, s := modeltest.Listen(t, cases...)
	m, err := openAt(cfg, url, c)
	if err != nil {
		t.Fatal(err)
	}
	return m, s
}

// connectInside is connect over pipes, so that synctest can control time.
func connectInside(t *testing.T, cfg openai.Config, cases ...recordedhttp.Case) (*openai.Model, *recordedhttp.Server) {
	t.Helper()
	url, c, s := modeltest.Pipe(cases...)
	m, err := openAt(cfg, url, c)
	if err != nil {
		t.Fatal(err)
	}
	return m, s
}

func hello() model.Request { return modeltest.Hello() }

func TestAnswers_AreReadOrATypedFailure(t *testing.T) { provider.Answers(t) }

func TestEmbeddings_AreReadOrATypedFailure(t *testing.T) { provider.Embeddings(t) }

// The table in docs/models.md describes what the provider does.
func TestTable_IsTrue(t *testing.T) { provider.Table(t, "openai") }
