package gemini_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/internal/modeltest"
	"github.com/weftrun/weft/models/gemini"
)

const key = "AIza-secret-123"

// newYear is the time of the tests' clock.
var newYear = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

var (
	// client opens models whose server plays prepared answers.
	client = modeltest.Client[gemini.Config, *gemini.Model]{Open: openAt}
	// connect uses a local port, and connectInside pipes, so that synctest can control time.
	connect, connectInside = client.Listen, client.Pipe
	hello                  = modeltest.Hello
)

// provider opens models with a configuration that is empty otherwise.
var provider = modeltest.Provider{
	Key: key, Never: []model.Kind{model.Unreachable},
	Open: client.Provider,
}

func openAt(cfg gemini.Config, url string, c *http.Client) (*gemini.Model, error) {
	if cfg.Model == "" {
		cfg.Model = "m"
	}
	cfg.BaseURL, cfg.Client, cfg.Key, cfg.Now = strings.TrimSuffix(url, "/v1"), c, key, func() time.Time { return newYear }
	return gemini.New(cfg)
}

func TestAnswers_AreReadOrATypedFailure(t *testing.T) { provider.Answers(t) }

func TestEmbeddings_AreReadOrATypedFailure(t *testing.T) { provider.Embeddings(t) }

// The table in docs/models.md describes what the provider does.
func TestTable_IsTrue(t *testing.T) { provider.Table(t, "gemini") }
