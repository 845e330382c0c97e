package anthropic_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/models/anthropic"
)

func TestProvider_HasNoEmbeddings(t *testing.T) {
	_, err := anthropic.Provider().Embedder(model.Config{Model: "claude", Key: key})
	if !errors.Is(err, model.ErrNoEmbeddings) || !strings.Contains(err.Error(), `"claude" at https://api.anthropic.com`) {
		t.Errorf("got %v, want ErrNoEmbeddings that names the model and the provider", err)
	}
}
