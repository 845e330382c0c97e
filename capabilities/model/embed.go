package model

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/weftrun/weft/state/message"
)

// ErrNoEmbeddings is returned for a provider that has no embeddings.
var ErrNoEmbeddings = errors.New("model: the provider has no embeddings")

// Embedder makes vectors of texts. The vectors of texts with a similar meaning are similar. It is
// safe for concurrent use.
type Embedder interface {
	// Embed returns a vector for each text, in their order. A failure is an [*Error], or the error
	// of ctx if that has ended. There are no vectors then, not even of a part of the texts.
	Embed(ctx context.Context, r EmbedRequest) (Embeddings, error)
}

// EmbedFunc is a function that is an Embedder.
type EmbedFunc func(ctx context.Context, r EmbedRequest) (Embeddings, error)

// Embed implements Embedder.
func (f EmbedFunc) Embed(ctx context.Context, r EmbedRequest) (Embeddings, error) { return f(ctx, r) }

// EmbedRequest asks for the vectors of texts.
type EmbedRequest struct {
	// Model is the name of the model; "" is that of the configuration.
	Model string `json:"model,omitempty"`
	// Texts must not be empty, because most models refuse an empty text.
	Texts []string `json:"texts"`
	// Dims is the length of the vectors, for models that have several; 0 is the model's own.
	Dims int `json:"dims,omitempty"`
	// Purpose is what the texts are, for models that distinguish it.
	Purpose Purpose `json:"purpose,omitempty"`
}

// Purpose is what texts are embedded for.
type Purpose string

// The purposes.
const (
	ForAny      Purpose = ""         // not known
	ForDocument Purpose = "document" // texts to be found
	ForQuery    Purpose = "query"    // a question for which texts are to be found
)

// Embeddings are the vectors of texts.
type Embeddings struct {
	Vectors [][]float32
	Model   string        // as the provider names it
	Usage   message.Usage // zero if Counted is false
	Counted bool
}

// Check returns a [BadAnswer] unless there is one vector for each text of the request, and all
// vectors have one length and finite numbers. The length is that of the request if it has one.
func (e Embeddings) Check(r EmbedRequest) error {
	bad := func(format string, args ...any) error {
		return &Error{Kind: BadAnswer, Model: r.Model, Message: fmt.Sprintf(format, args...)}
	}
	if len(e.Vectors) != len(r.Texts) {
		return bad("the answer has %d vectors for %d texts", len(e.Vectors), len(r.Texts))
	}
	for i, v := range e.Vectors {
		switch want := len(e.Vectors[0]); {
		case len(v) == 0:
			return bad("vector %d is empty", i)
		case r.Dims > 0 && len(v) != r.Dims:
			return bad("vector %d has %d numbers, not %d", i, len(v), r.Dims)
		case len(v) != want:
			return bad("vector %d has %d numbers, and the first one %d", i, len(v), want)
		}
		for _, n := range v {
			if math.IsNaN(float64(n)) || math.IsInf(float64(n), 0) {
				return bad("vector %d has a number that is not finite", i)
			}
		}
	}
	return nil
}

// EmbedIn is for Embedders: it sends the texts of a request in parts of at most limit texts, one
// after another, and returns the checked vectors of all. part returns those of one part.
func EmbedIn(ctx context.Context, r EmbedRequest, limit int, part func(context.Context, EmbedRequest) (Embeddings, error)) (all Embeddings, err error) {
	for i, text := range r.Texts {
		if text == "" {
			return Embeddings{}, &Error{Kind: Invalid, Model: r.Model, Message: fmt.Sprintf("text %d is empty", i)}
		}
	}
	if r.Dims < 0 {
		return Embeddings{}, &Error{Kind: Invalid, Model: r.Model, Message: fmt.Sprintf("Dims must not be negative (got %d)", r.Dims)}
	}
	all.Counted = len(r.Texts) > 0
	for from := 0; from < len(r.Texts); from += limit {
		one := r
		one.Texts = r.Texts[from:min(from+limit, len(r.Texts))]
		e, err := part(ctx, one)
		if err == nil {
			err = e.Check(one)
		}
		if err != nil {
			return Embeddings{}, err
		}
		all.Vectors, all.Model = append(all.Vectors, e.Vectors...), e.Model
		all.Counted = all.Counted && e.Counted
		all.Usage.Input += e.Usage.Input
	}
	if !all.Counted {
		all.Usage = message.Usage{}
	}
	return all, all.Check(r)
}

// Vectors returns a function that embeds texts, such as the Embed of a memory.Index. r has
// everything but the texts.
func Vectors(e Embedder, r EmbedRequest) func(ctx context.Context, texts []string) ([][]float32, error) {
	return func(ctx context.Context, texts []string) ([][]float32, error) {
		own := r
		own.Texts = texts
		got, err := e.Embed(ctx, own)
		return got.Vectors, err
	}
}
