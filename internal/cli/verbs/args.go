package verbs

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/weftrun/weft/internal/cli/reports"
)

// arguments returns a check for between least and most arguments. Errors call the first argument
// what.
func (a *app) arguments(what string, least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		next := a.Invocation + strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()) + " --help shows how"
		switch {
		case len(args) == 0 && strings.HasPrefix(what, "THREAD"):
			return reports.Usage(a.Command("threads")+" lists the threads of the store", "%s needs a %s", cmd.Name(), what)
		case len(args) < least:
			return reports.Usage(next, "%s needs a %s", cmd.Name(), what)
		case len(args) > most:
			return reports.Usage(next, "%s does not take the argument %q", cmd.Name(), args[most])
		}
		return nil
	}
}

// onThreads lets a verb whose first argument is a THREAD take it as --thread instead.
func onThreads(cmd *cobra.Command) *cobra.Command {
	var thread string
	cmd.Flags().StringVar(&thread, "thread", "", "the THREAD, in place of the argument")
	whole := func(args []string) []string {
		if cmd.Flags().Changed("thread") {
			return append([]string{thread}, args...)
		}
		return args
	}
	check, run := cmd.Args, cmd.RunE
	cmd.Args = func(cmd *cobra.Command, args []string) error { return check(cmd, whole(args)) }
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return run(cmd, whole(args)) }
	return cmd
}

// first returns the first argument, or "".
func first(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}
