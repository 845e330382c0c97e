package verbs

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/internal/cli/reports"
)

func (a *app) explainVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "explain [CODE]",
		Short: "Explain a mistake by its code, or list all codes",
		Long: `Explain describes the mistake with a code such as WF203, with a file that makes the
mistake and one that does not. Without a code it lists all of them.`,
		Args: a.arguments("CODE", 0, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return a.listCodes()
			}
			return a.explainCode(args[0])
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			var codes []string
			for _, e := range workflow.Codes() {
				if len(args) == 0 {
					codes = append(codes, fmt.Sprintf("%s\t%s", e.Code, e.Title))
				}
			}
			return codes, cobra.ShellCompDirectiveNoFileComp
		},
	}
}

func (a *app) listCodes() error {
	t := a.Table("CODE", "MISTAKE")
	for _, e := range workflow.Codes() {
		if err := t.Add(explained(e), e.Code, e.Title); err != nil {
			return err
		}
	}
	return t.Flush()
}

func (a *app) explainCode(code string) error {
	e, err := workflow.Explain(code)
	if err != nil {
		return reports.Usage(a.Invocation+" explain lists all codes", "%s", strings.TrimPrefix(err.Error(), "workflow: "))
	}
	if a.JSON {
		return a.PrintJSON(explained(e))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n\n%s\n", e.Code, e.Title, e.Why)
	if e.Wrong != "" {
		fmt.Fprintf(&b, "\nWrong:\n%s\nRight:\n%s", marked("  ", e.Wrong), marked("  ", e.Right))
	}
	_, err = fmt.Fprint(a.Stdout, b.String())
	return err
}

// explained returns an explanation as a value for JSON.
func explained(e workflow.Explanation) any {
	return struct {
		Code  workflow.Code `json:"code"`
		Title string        `json:"title"`
		Why   string        `json:"why"`
		Wrong string        `json:"wrong,omitempty"`
		Right string        `json:"right,omitempty"`
	}{e.Code, e.Title, e.Why, e.Wrong, e.Right}
}
