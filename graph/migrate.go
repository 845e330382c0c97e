package graph

import (
	"errors"
	"fmt"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/state"
)

// addMigrations gives the schema the migrations of its fields.
func (c *compiler) addMigrations(cfg Config) {
	if c.p.schema = c.schema; c.schemaErr != nil || c.schema == nil {
		return
	}
	with, err := c.schema.Migrating(cfg.Migrate)
	if err == nil {
		c.p.schema = with
		return
	}
	var se *state.SchemaError
	if !errors.As(err, &se) {
		c.fail(c.pos, "%v", err)
		return
	}
	for _, m := range se.Mistakes {
		c.fail(c.pos, "Config.Migrate: field %s: %s", m.Path, m.What)
	}
}

// fieldOf returns the place of the field that w wrote, under whatever name. What a task wrote
// is not migrated: it is no value but a change of one.
func (w fieldWrite) fieldOf(s *state.Schema) (int, error) {
	i, ok := s.Index(w.Field)
	if !ok {
		i, ok = s.Renamed(w.Field)
	}
	if !ok {
		return 0, fmt.Errorf("%w: it wrote field %q, which is gone", ErrProgram, w.Field)
	}
	have, want := max(1, w.Version), s.Fields()[i].Version
	switch {
	case have > want:
		return 0, fmt.Errorf("%w: %w", ErrProgram, &checkpoint.NewerSchemaError{Field: w.Field, Stored: have, Known: want})
	case have < want:
		return 0, fmt.Errorf("%w: it wrote field %q at version %d, and now it has version %d; let the program that ran the step end it, or begin a new turn",
			ErrProgram, w.Field, have, want)
	}
	return i, nil
}
