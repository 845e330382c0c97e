package verbs

import (
	"path/filepath"

	"github.com/weftrun/weft/checkpoint/memory"
	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/internal/cli/reports"
	"github.com/weftrun/weft/server"
)

// embedding is an entry of embedders.
type embedding interface {
	CheckEnv() error
	Index(s memory.Store, fields ...string) *memory.Index
}

// embed makes the server find items by meaning too, by an embedder of weft.yaml: that of --config,
// or of the current folder.
func (a *app) embed(c *server.Config, name string) error {
	o, err := a.shared(filepath.Join(".", workflow.ConfigName+"~")) // any file of the current folder
	if err != nil {
		return err
	}
	if o.Config == "" {
		return reports.Usage("declare it under embedders in a weft.yaml, or name that file with --config", "there is no embedder %q", name)
	}
	entries, err := workflow.LoadEntries(o.Config, o)
	if err != nil {
		return reports.CannotRead(o.Config, err)
	}
	v, ok, err := entries.Open("embedders", name)
	if err != nil {
		return err
	}
	e, fits := v.(embedding)
	if !ok || !fits {
		return reports.Usage("declare it under embedders in that file", "%s has no embedder %q", o.Config, name)
	}
	if err := e.CheckEnv(); err != nil {
		return reports.Usage("set what is missing", "%s: %w", o.Config, err)
	}
	c.Index = func(items memory.Store) *memory.Index {
		index := e.Index(items)
		index.Failed = func(namespace []string, key string, err error) {
			c.Log.Warn("an item has no vector", "namespace", namespace, "key", key, "error", err)
		}
		return index
	}
	return nil
}
