package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

// arguments wants from least to most arguments, of which the first is called what.
func (a *app) arguments(what string, least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		next := a.as + strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()) + " --help shows how"
		switch {
		case len(args) < least:
			return usage(next, "%s needs a %s", cmd.Name(), what)
		case most == 0 && len(args) == 1 && cmd.Flags().Lookup("thread") != nil:
			return usage("name the thread with --thread "+quote(args[0]), "%s does not take the argument %q", cmd.Name(), args[0])
		case len(args) > most:
			return usage(next, "%s does not take the argument %q", cmd.Name(), args[most])
		}
		return nil
	}
}

// first returns the first argument, or "".
func first(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}
