package openai

import (
	"context"
	"encoding/json"
	"io"
	"net/http"

	sdk "github.com/openai/openai-go/v3"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/state/message"
)

var _ model.Embedder = (*Model)(nil)

// maxTexts is how many texts a request has at most. OpenAI takes 2048, but 300,000 tokens in all,
// and the answer must not be larger than [modelhttp.MaxEvent].
const maxTexts = 128

// Embed implements model.Embedder. It sends the texts in parts of 128.
func (m *Model) Embed(ctx context.Context, r model.EmbedRequest) (model.Embeddings, error) {
	if r.Model == "" {
		r.Model = m.cfg.Model
	}
	if r.Model == "" {
		return model.Embeddings{}, &model.Error{Kind: model.Invalid, Message: "the request names no model, and neither does the configuration"}
	}
	return model.EmbedIn(ctx, r, maxTexts, m.embed)
}

func (m *Model) embed(ctx context.Context, r model.EmbedRequest) (e model.Embeddings, err error) {
	p := sdk.EmbeddingNewParams{
		Model: r.Model, Input: sdk.EmbeddingNewParamsInputUnion{OfArrayOfStrings: r.Texts},
		EncodingFormat: sdk.EmbeddingNewParamsEncodingFormatFloat, // every server has it
	}
	if r.Dims > 0 {
		p.Dimensions = sdk.Int(int64(r.Dims))
	}
	err = m.http.DoWhole(ctx, r.Model, func(ctx context.Context) error {
		var res *http.Response
		if err := m.client.Post(ctx, "embeddings", p, &res); err != nil {
			return err
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			return err
		}
		e, err = m.embeddings(body, len(r.Texts))
		return err
	})
	return e, err
}

// embeddings reads an answer. Servers may send the vectors in any order.
func (m *Model) embeddings(body []byte, texts int) (e model.Embeddings, err error) {
	var a struct {
		Data []struct {
			Index     *int      `json:"index"`
			Embedding []float32 `json:"embedding"`
		} `json:"data"`
		Model string `json:"model"`
		Usage *struct {
			PromptTokens int `json:"prompt_tokens"`
		} `json:"usage"`
		Error json.RawMessage `json:"error"`
	}
	if err := json.Unmarshal(body, &a); err != nil {
		return e, m.http.Bad("the answer is no list of vectors: %v", err)
	}
	if len(a.Error) > 0 && string(a.Error) != "null" {
		return e, m.serverError(a.Model, a.Error)
	}
	if len(a.Data) != texts {
		return e, m.http.Bad("the answer has %d vectors for %d texts", len(a.Data), texts)
	}
	e = model.Embeddings{Vectors: make([][]float32, texts), Model: a.Model}
	for i, d := range a.Data {
		if d.Index != nil {
			i = *d.Index
		}
		if i < 0 || i >= texts || e.Vectors[i] != nil {
			return e, m.http.Bad("the answer has the index %d for %d texts, or has it twice", i, texts)
		}
		e.Vectors[i] = d.Embedding
	}
	if a.Usage != nil && a.Usage.PromptTokens >= 0 {
		e.Usage, e.Counted = message.Usage{Input: a.Usage.PromptTokens}, true
	}
	return e, nil
}
