package recording

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/state/message"
)

// Embedder returns e with a name, whose calls a [Recorder] of their context records or replays.
// Without a Recorder it is e. A vector is stored as the base64 of its numbers: float32, little
// endian.
func Embedder(name string, e model.Embedder) model.Embedder {
	return model.EmbedFunc(func(ctx context.Context, r model.EmbedRequest) (model.Embeddings, error) {
		if of(ctx) == nil {
			return e.Embed(ctx, r)
		}
		got, err := outside(ctx, kindEmbedder, name, r, func(ctx context.Context) (v vectors, err error) {
			made, err := e.Embed(ctx, r)
			if err == nil {
				v = vectorsOf(made)
			}
			return v, err
		})
		if err != nil {
			return model.Embeddings{}, err
		}
		made, err := got.embeddings()
		if err == nil {
			err = made.Check(r)
		}
		return made, err
	})
}

// vectors are embeddings as they are recorded.
type vectors struct {
	Data  []string       `json:"data"`
	Model string         `json:"model,omitempty"`
	Usage *message.Usage `json:"usage,omitempty"` // nil if it was not counted
}

func vectorsOf(e model.Embeddings) vectors {
	v := vectors{Data: make([]string, len(e.Vectors)), Model: e.Model}
	if e.Counted {
		v.Usage = &e.Usage
	}
	for i, numbers := range e.Vectors {
		var b []byte
		for _, n := range numbers {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(n))
		}
		v.Data[i] = base64.StdEncoding.EncodeToString(b)
	}
	return v
}

func (v vectors) embeddings() (e model.Embeddings, err error) {
	e = model.Embeddings{Vectors: make([][]float32, len(v.Data)), Model: v.Model, Counted: v.Usage != nil}
	if e.Counted {
		e.Usage = *v.Usage
	}
	for i, text := range v.Data {
		b, err := base64.StdEncoding.DecodeString(text)
		if err != nil || len(b)%4 != 0 {
			return e, fmt.Errorf("vector %d must be the base64 of numbers of 4 bytes", i)
		}
		e.Vectors[i] = make([]float32, len(b)/4)
		for j := range e.Vectors[i] {
			e.Vectors[i][j] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*j:]))
		}
	}
	return e, nil
}
