package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// shells are what completion scripts are written for.
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
			root := cmd.Root()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(a.Stdout, true)
			case "zsh":
				return root.GenZshCompletion(a.Stdout)
			case "fish":
				return root.GenFishCompletion(a.Stdout, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(a.Stdout)
			}
			return usage("use one of "+strings.Join(shells, ", "), "there is no completion for %q", args[0])
		},
	}
}

// completed says which values flags take, for those that take few.
func completed(root *cobra.Command) {
	for verb, flags := range map[string]map[string][]string{
		"run":      {"durability": {"sync", "async", "exit"}},
		"resume":   {"durability": {"sync", "async", "exit"}},
		"validate": {"format": verdictForms},
		"graph":    {"as": drawings},
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
			cmd.ValidArgsFunction = cobra.FixedCompletions([]string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt)
		}
	}
}

func templateNames() []string {
	var names []string
	for _, t := range templates {
		names = append(names, t.name)
	}
	return names
}
