package openai_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/capabilities/model/openai"
	"github.com/weftrun/weft/internal/modeltest"
)

const key = "sk-secret-123"

// newYear is the time of the tests' clock.
var newYear = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

var (
	// client opens models whose server plays prepared answers.
	client = modeltest.Client[openai.Config, *openai.Model]{Open: openAt}
	// connect uses a local port, and connectInside pipes, so that synctest can control time.
	connect, connectInside = client.Listen, client.Pipe
	hello                  = modeltest.Hello
)

// provider opens models with a configuration that is empty otherwise.
var provider = modeltest.Provider{
	Key: key, Never: []model.Kind{model.Truncated},
	Open: client.Provider,
}

func openAt(cfg openai.Config, url string, c *http.Client) (*openai.Model, error) {
	if cfg.Model == "" {
		cfg.Model = "m"
	}
	cfg.BaseURL, cfg.Client, cfg.Key, cfg.Now = url, c, key, func() time.Time { return newYear }
	return openai.New(cfg)
}

func TestAnswers_AreReadOrATypedFailure(t *testing.T) { provider.Answers(t) }

func TestEmbeddings_AreReadOrATypedFailure(t *testing.T) { provider.Embeddings(t) }

// The table in docs/models.md describes what the provider does.
func TestTable_IsTrue(t *testing.T) { provider.Table(t, "openai") }
