package verbs

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func (a *app) versionVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of this program",
		Args:  a.arguments("", 0, 0),
		RunE:  func(*cobra.Command, []string) error { return a.printVersion() },
	}
}

// version returns the version of the module that the program was built from.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}

func (a *app) printVersion() error {
	if a.JSON {
		return a.PrintJSON(map[string]string{"name": a.Name, "version": version(), "go": runtime.Version()})
	}
	_, err := fmt.Fprintf(a.Stdout, "%s %s (%s, %s/%s)\n", a.Name, version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}
