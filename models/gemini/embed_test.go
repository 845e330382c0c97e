package gemini_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/internal/recordedhttp"
	"github.com/weftrun/weft/models/gemini"
)

// vectors is an answer with n vectors, of which the first one is [first].
func vectors(first, n int) recordedhttp.Case {
	values := strings.Repeat(`,{"values":[0]}`, n-1)
	return recordedhttp.JSON(fmt.Sprintf(`{"embeddings":[{"values":[%d]}%s]}`, first, values))
}

func TestEmbed_HasTheFormOfTheWire(t *testing.T) {
	m, s := connect(t, gemini.Config{}, vectors(1, 1))
	_, err := m.Embed(t.Context(), model.EmbedRequest{Model: "gemini-embedding-001", Texts: []string{"tea"}, Dims: 1, Purpose: model.ForQuery})
	if err != nil {
		t.Fatal(err)
	}
	var got any
	if err := json.Unmarshal(s.Requests()[0], &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"requests": []any{map[string]any{
		"model": "models/gemini-embedding-001", "taskType": "RETRIEVAL_QUERY", "outputDimensionality": 1.0,
		"content": map[string]any{"role": "user", "parts": []any{map[string]any{"text": "tea"}}},
	}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := s.Headers()[0].Get("X-Goog-Api-Key"); got != key {
		t.Errorf("the key is %q", got)
	}
}

func TestEmbed_SendsManyTextsInParts(t *testing.T) {
	m, s := connect(t, gemini.Config{}, vectors(1, 100), vectors(2, 20))
	e, err := m.Embed(t.Context(), model.EmbedRequest{Texts: strings.Split(strings.Repeat("x", 120), "")})
	if err != nil || len(e.Vectors) != 120 || e.Vectors[100][0] != 2 || len(s.Requests()) != 2 {
		t.Errorf("got %d vectors of %d requests, %v", len(e.Vectors), len(s.Requests()), err)
	}
	if _, err := m.Embed(t.Context(), model.EmbedRequest{Texts: []string{"a", ""}}); model.KindOf(err) != model.Invalid {
		t.Errorf("an empty text: %v", err)
	}
}

func TestProvider_OpensEmbedders(t *testing.T) {
	e, err := gemini.Provider().Embedder(model.Config{Model: "m", Key: key})
	if _, ok := e.(*gemini.Model); !ok || err != nil {
		t.Errorf("got %T, %v", e, err)
	}
	if _, err := gemini.Provider().Embedder(model.Config{Model: "m", URL: "nowhere"}); !errors.Is(err, gemini.ErrConfig) {
		t.Errorf("got %v, want ErrConfig", err)
	}
}
