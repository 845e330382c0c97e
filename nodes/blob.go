package nodes

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/weftrun/weft/state"
)

// Blob is a parameter that is a blob, as a field of the type blob holds it. The zero Blob is none.
type Blob struct{ state.BlobRef }

// UnmarshalJSON reads the name of a blob. Null is an error: a field without a value names none.
func (b *Blob) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return errors.New("the blob is null")
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&b.BlobRef); err != nil {
		return err
	}
	if b.Hash == "" {
		return errors.New("the blob has no hash")
	}
	return nil
}

// ParamSchema implements workflow.Described.
func (Blob) ParamSchema() map[string]any {
	return map[string]any{
		"type": "object", "required": []string{"$blob", "size"}, "additionalProperties": false, "$comment": "a blob",
		"properties": map[string]any{
			"$blob": map[string]any{"type": "string"}, "size": map[string]any{"type": "integer"}, "type": map[string]any{"type": "string"},
		},
	}
}

// open returns a reader of the content.
func (b Blob) open(ctx context.Context) (io.ReadCloser, error) { return state.OpenBlob(ctx, b.BlobRef) }
