package verbs

import (
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weftrun/weft/internal/cli/reports"
)

// shells are the shells that completion scripts exist for.
var shells = []string{"bash", "zsh", "fish", "powershell"}

func (a *app) completionVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print what lets a shell complete commands: bash, zsh, fish or powershell",
		Long: `Completion prints a script for a shell. For the running one:

  bash  source <(weft completion bash)
  zsh   source <(weft completion zsh)
  fish  weft completion fish | source

For all to come write it to where the shell looks, such as
~/.local/share/bash-completion/completions/weft or ~/.config/fish/completions/weft.fish.`,
		Args:      a.arguments("SHELL", 1, 1),
		ValidArgs: shells,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !a.JSON {
				return completion(cmd.Root(), args[0], a.Verbatim)
			}
			var script strings.Builder
			if err := completion(cmd.Root(), args[0], &script); err != nil {
				return err
			}
			return a.PrintJSON(map[string]string{"shell": args[0], "script": script.String()})
		},
	}
}

func completion(root *cobra.Command, shell string, out io.Writer) error {
	switch shell {
	case "bash":
		return root.GenBashCompletionV2(out, true)
	case "zsh":
		return root.GenZshCompletion(out)
	case "fish":
		return root.GenFishCompletion(out, true)
	case "powershell":
		return root.GenPowerShellCompletionWithDesc(out)
	}
	return reports.Usage("use one of "+strings.Join(shells, ", "), "there is no completion for %q", shell)
}

// completed lists the values of flags that take only a few.
func (a *app) completed(root *cobra.Command) {
	for verb, flags := range map[string]map[string][]string{
		"run":      {"durability": {"sync", "async", "exit"}},
		"resume":   {"durability": {"sync", "async", "exit"}},
		"validate": {"format": verdictForms},
		"graph":    {"format": drawings},
		"serve":    {"studio": studios},
		"dev":      {"studio": studios},
		"new":      {"template": templateNames()},
	} {
		cmd, _, err := root.Find([]string{verb})
		if err != nil {
			continue
		}
		for flag, values := range flags {
			_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(slices.Clone(values), cobra.ShellCompDirectiveNoFileComp))
		}
	}
	for _, cmd := range root.Commands() {
		if cmd.ValidArgsFunction == nil && strings.Contains(cmd.Use, "FILE") && cmd.Name() != "import" {
			cmd.ValidArgsFunction = a.fileOrGraph
		}
	}
}

// onGraphs are the verbs that take the name of a graph of this program in place of a FILE.
var onGraphs = []string{"run", "resume", "state", "diff", "fork", "replay", "graph"}

// fileOrGraph completes workflow files, and the names of graphs that begin with the text.
func (a *app) fileOrGraph(cmd *cobra.Command, _ []string, start string) ([]string, cobra.ShellCompDirective) {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(a.config.Graphs)) {
		if start != "" && strings.HasPrefix(name, start) && slices.Contains(onGraphs, cmd.Name()) {
			names = append(names, name)
		}
	}
	if len(names) > 0 {
		return names, cobra.ShellCompDirectiveNoFileComp
	}
	return []string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
}

func templateNames() []string {
	var names []string
	for _, t := range templates {
		names = append(names, t.name)
	}
	return names
}
