package verbs

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/weftrun/weft/checkpoint"
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

// embedder opens an embedder of weft.yaml: that of --config, or of the current folder.
func (a *app) embedder(name string) (embedding, error) {
	o, err := a.shared(filepath.Join(".", workflow.ConfigName+"~")) // any file of the current folder
	if err != nil {
		return nil, err
	}
	if o.Config == "" {
		return nil, reports.Usage("declare it under embedders in a weft.yaml, or name that file with --config", "there is no embedder %q", name)
	}
	entries, err := workflow.LoadEntries(o.Config, o)
	if err != nil {
		return nil, reports.CannotRead(o.Config, err)
	}
	v, ok, err := entries.Open("embedders", name)
	if err != nil {
		return nil, err
	}
	e, fits := v.(embedding)
	if !ok || !fits {
		return nil, reports.Usage("declare it under embedders in that file", "%s has no embedder %q", o.Config, name)
	}
	if err := e.CheckEnv(); err != nil {
		return nil, reports.Usage("set what is missing", "%s: %w", o.Config, err)
	}
	return e, nil
}

// embed makes the server find items by meaning too, by an embedder of weft.yaml.
func (a *app) embed(c *server.Config, name string) error {
	e, err := a.embedder(name)
	if err != nil {
		return err
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

func (a *app) reindexVerb() *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use:   "reindex [LABEL...]",
		Short: "Make the vectors that items of the store lack",
		Long: `Reindex makes vectors of the items that have none for their last value: those that were
put without an embedder, or while it failed. weft serve --embedder then finds them by meaning. It
also removes the vectors of items that are gone. The labels are the first ones of the namespaces
to look at; without them it looks at all items. What is done is stored, so the same command goes
on after a failure.

--embedder names an entry under embedders in weft.yaml, as for weft serve.`,
		Args: a.arguments("LABEL", 0, memory.MaxLabels),
		RunE: func(cmd *cobra.Command, labels []string) error {
			if name == "" {
				return reports.Usage("write --embedder NAME, as for weft serve", "weft reindex needs an embedder")
			}
			e, err := a.embedder(name)
			if err != nil {
				return err
			}
			if _, missing := a.missingFile(); missing {
				return a.printReindexed(0)
			}
			return withStore(cmd.Context(), a.open, func(store checkpoint.Store) error {
				return a.reindex(cmd.Context(), store, e, labels)
			})
		},
	}
	cmd.Flags().StringVar(&name, "embedder", "", "NAME under embedders of weft.yaml: the model that makes the vectors")
	return cmd
}

func (a *app) reindex(ctx context.Context, store checkpoint.Store, e embedding, labels []string) error {
	items, err := a.memories(ctx, store)
	if err != nil {
		return err
	}
	made, err := e.Index(items).Reindex(ctx, labels)
	if err != nil {
		return fmt.Errorf("after %d items: %w", made, err)
	}
	return a.printReindexed(made)
}

func (a *app) printReindexed(made int) error {
	if a.JSON {
		return a.PrintJSON(struct {
			Made int `json:"made"`
		}{made})
	}
	_, err := fmt.Fprintf(a.Stdout, "made the vectors of %d items\n", made)
	return err
}
