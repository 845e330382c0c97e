package gemini

import (
	"context"
	"errors"
	"math"

	"google.golang.org/genai"

	"github.com/weftrun/weft/capabilities/model"
)

var _ model.Embedder = (*Model)(nil)

// maxTexts is how many texts the API takes in a request.
const maxTexts = 100

// tasks are the purposes by their names in the API.
var tasks = map[model.Purpose]string{model.ForDocument: "RETRIEVAL_DOCUMENT", model.ForQuery: "RETRIEVAL_QUERY"}

// Embed implements model.Embedder. It sends the texts in parts of 100. The API does not count the
// tokens.
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
	var contents []*genai.Content
	for _, text := range r.Texts {
		contents = append(contents, genai.NewContentFromText(text, genai.RoleUser))
	}
	config := &genai.EmbedContentConfig{TaskType: tasks[r.Purpose]}
	if r.Dims > 0 {
		config.OutputDimensionality = genai.Ptr(int32(min(r.Dims, math.MaxInt32)))
	}
	err = m.http.DoWhole(ctx, r.Model, func(ctx context.Context) error {
		got, err := m.api.Models.EmbedContent(ctx, r.Model, contents, config)
		if err != nil {
			var failed *model.Error
			if errors.As(err, &failed) {
				return failed
			}
			return m.http.Bad("the answer is no list of vectors: %v", err)
		}
		e.Model = r.Model
		for _, v := range got.Embeddings {
			if v == nil {
				v = &genai.ContentEmbedding{}
			}
			e.Vectors = append(e.Vectors, v.Values)
		}
		return nil
	})
	return e, err
}
