package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/weftrun/weft/graph"
)

func (a *app) graphVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "graph FILE",
		Short: "Draw a workflow as a Mermaid flowchart",
		Args:  a.arguments("FILE", 1, 1),
		RunE:  func(_ *cobra.Command, args []string) error { return a.draw(args[0]) },
	}
}

func (a *app) draw(file string) error {
	flow, err := a.load(file)
	if err != nil {
		return err
	}
	g, err := flow.Compile(graph.Config{})
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(map[string]string{"workflow": flow.Name, "mermaid": g.Mermaid()})
	}
	_, err = fmt.Fprint(a.Stdout, g.Mermaid())
	return err
}
