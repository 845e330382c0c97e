package verbs

import (
	"github.com/spf13/cobra"

	"github.com/weftrun/weft/graph/workflow"
)

func (a *app) schemaVerb() *cobra.Command {
	var shared bool
	cmd := &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of workflow files, for editors",
		Long: `Schema prints the JSON Schema (draft 2020-12) of workflow files with all kinds and Go
functions of this program, so that an editor completes them. Write it to a file, and
name that in the first line of a workflow:

  # yaml-language-server: $schema=workflow.schema.json

With --shared it prints that of weft.yaml, the file with models and tools.`,
		Args: a.arguments("", 0, 0),
		RunE: func(*cobra.Command, []string) error {
			text := workflow.Schema(a.options())
			if shared {
				text = workflow.ConfigSchema(a.options())
			}
			_, err := a.Verbatim.Write(text)
			return err
		},
	}
	cmd.Flags().BoolVar(&shared, "shared", false, "the schema of "+workflow.ConfigName)
	return cmd
}
