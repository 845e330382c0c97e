package verbs

import (
	"github.com/spf13/cobra"

	"github.com/weftrun/weft/graph/workflow"
)

func (a *app) schemaVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of workflow files, for editors",
		Long: `Schema prints the JSON Schema (draft 2020-12) of workflow files with all kinds and Go
functions of this program, so that an editor completes them. Write it to a file, and
name that in the first line of a workflow:

  # yaml-language-server: $schema=workflow.schema.json`,
		Args: a.arguments("", 0, 0),
		RunE: func(*cobra.Command, []string) error {
			_, err := a.Verbatim.Write(workflow.Schema(a.options()))
			return err
		},
	}
}
