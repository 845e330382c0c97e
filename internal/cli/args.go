package cli

import "github.com/spf13/cobra"

// one wants exactly one argument.
func one(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) == 0:
			return usage(cmd.CommandPath()+" --help shows how", "%s needs a %s", cmd.Name(), what)
		case len(args) > 1:
			return tooMany(cmd, args[1])
		}
		return nil
	}
}

// some wants one argument or more.
func some(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error { return one(what)(cmd, args[:min(len(args), 1)]) }
}

// atMost wants up to n arguments.
func atMost(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > n {
			return tooMany(cmd, args[n])
		}
		return nil
	}
}

func tooMany(cmd *cobra.Command, arg string) error {
	return usage(cmd.CommandPath()+" --help shows how", "%s takes no argument %q", cmd.Name(), arg)
}
