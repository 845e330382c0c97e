package postgres

import (
	"context"

	"github.com/weftrun/weft/checkpoint"
)

// Doctor implements checkpoint.Examiner.
func (s *Store) Doctor(ctx context.Context) ([]checkpoint.Finding, error) { return nil, nil }
