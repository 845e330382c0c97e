package anthropic_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/internal/modeltest"
	"github.com/weftrun/weft/models/anthropic"
)

const key = "sk-ant-secret-123"

// newYear is the time of the tests' clock.
var newYear = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

var (
	// client opens models whose server plays prepared answers.
	client = modeltest.Client[anthropic.Config, *anthropic.Model]{Open: openAt}
	// connect uses a local port, and connectInside pipes, so that synctest can control time.
	connect, connectInside = client.Listen, client.Pipe
	hello                  = modeltest.Hello
)

// provider opens models with a configuration that is empty otherwise.
var provider = modeltest.Provider{
	Key: key, Never: []model.Kind{model.Unreachable},
	Open: client.Provider,
}

func openAt(cfg anthropic.Config, url string, c *http.Client) (*anthropic.Model, error) {
	if cfg.Model == "" {
		cfg.Model = "m"
	}
	cfg.BaseURL, cfg.Client, cfg.Key, cfg.Now = strings.TrimSuffix(url, "/v1"), c, key, func() time.Time { return newYear }
	return anthropic.New(cfg)
}

func TestAnswers_AreReadOrATypedFailure(t *testing.T) { provider.Answers(t) }

// The table in docs/models.md describes what the provider does.
func TestTable_IsTrue(t *testing.T) { provider.Table(t, "anthropic") }
