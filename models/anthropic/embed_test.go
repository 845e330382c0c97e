package anthropic_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/models/anthropic"
)

func TestProvider_HasNoEmbeddings(t *testing.T) {
	for url, want := range map[string]string{
		"":                         `"claude" at https://api.anthropic.com`,
		"https://proxy.example/v":  `"claude" at https://proxy.example/v`,
		"https://u:pw@p.example":   `"claude" at https://u:xxxxx@p.example`,
		"https://u:pw@p.example/%": `"claude" at https://api.anthropic.com`,
	} {
		_, err := anthropic.Provider().Embedder(model.Config{Model: "claude", URL: url, Key: key})
		if !errors.Is(err, model.ErrNoEmbeddings) || !strings.Contains(err.Error(), want) {
			t.Errorf("with the address %q: got %v, want ErrNoEmbeddings that contains %s", url, err, want)
		}
	}
}
