package openai_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/capabilities/model/openai"
	"github.com/weftrun/weft/internal/recordedhttp"
)

// vectors is an answer with n vectors, of which the first one is [first].
func vectors(first, n int) recordedhttp.Case {
	rest := strings.Repeat(`,{"embedding":[0]}`, n-1)
	return recordedhttp.JSON(fmt.Sprintf(`{"data":[{"embedding":[%d]}%s],"model":"m-1","usage":{"prompt_tokens":%d}}`, first, rest, n))
}

func TestEmbed_HasTheFormOfTheWire(t *testing.T) {
	m, s := connect(t, openai.Config{}, vectors(1, 1))
	e, err := m.Embed(t.Context(), model.EmbedRequest{Model: "small", Texts: []string{"tea"}, Dims: 1, Purpose: model.ForQuery})
	if err != nil || e.Model != "m-1" {
		t.Fatal(e, err)
	}
	if got, want := string(s.Requests()[0]), `{"input":["tea"],"model":"small","dimensions":1,"encoding_format":"float"}`; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if got := s.Headers()[0].Get("Authorization"); got != "Bearer "+key {
		t.Errorf("the key is %q", got)
	}
}

func TestEmbed_SendsManyTextsInParts(t *testing.T) {
	m, s := connect(t, openai.Config{}, vectors(1, 128), vectors(2, 22))
	e, err := m.Embed(t.Context(), model.EmbedRequest{Texts: strings.Split(strings.Repeat("x", 150), "")})
	if err != nil || len(e.Vectors) != 150 || e.Vectors[128][0] != 2 || len(s.Requests()) != 2 || e.Usage.Input != 150 {
		t.Errorf("got %d vectors of %d requests, %+v, %v", len(e.Vectors), len(s.Requests()), e.Usage, err)
	}
}

// A failure of the second part leaves no vectors of the first one.
func TestEmbed_IsWholeOrFails(t *testing.T) {
	m, _ := connect(t, openai.Config{}, vectors(1, 128), vectors(1, 1))
	e, err := m.Embed(t.Context(), model.EmbedRequest{Texts: strings.Split(strings.Repeat("x", 150), "")})
	if model.KindOf(err) != model.BadAnswer || e.Vectors != nil {
		t.Errorf("got %d vectors, %v", len(e.Vectors), err)
	}
	for name, r := range map[string]model.EmbedRequest{"an empty text": {Texts: []string{"a", ""}}, "negative Dims": {Texts: []string{"a"}, Dims: -1}} {
		if _, err := m.Embed(t.Context(), r); model.KindOf(err) != model.Invalid {
			t.Errorf("%s: got %v, want an invalid request", name, err)
		}
	}
	if e, err := m.Embed(t.Context(), model.EmbedRequest{}); err != nil || len(e.Vectors) != 0 || e.Counted {
		t.Errorf("no texts: got %+v, %v", e, err)
	}
}

func TestVectors_IsTheFunctionOfAnIndex(t *testing.T) {
	e, err := openai.Provider().Embedder(model.Config{Model: "m", URL: "http://127.0.0.1:1/v1"})
	if err != nil {
		t.Fatal(err)
	}
	embed := model.Vectors(e, model.EmbedRequest{Dims: 2})
	if _, err := embed(t.Context(), []string{"tea"}); model.KindOf(err) != model.Unreachable {
		t.Errorf("got %v, want an unreachable server", err)
	}
}
