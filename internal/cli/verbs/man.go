package verbs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/weftrun/weft/internal/cli/reports"
)

func (a *app) manVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write the manual pages",
		Long: `Man writes a manual page for each command into a folder, such as
~/.local/share/man/man1; man weft-run then shows one.`,
		Args: a.arguments("DIR", 1, 1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.man(cmd.Root(), args[0]) },
	}
}

func (a *app) man(root *cobra.Command, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return reports.CannotWrite(dir, err)
	}
	root.DisableAutoGenTag = true
	var files []string
	for _, cmd := range documented(root) {
		file := filepath.Join(dir, strings.ReplaceAll(cmd.CommandPath(), " ", "-")+".1")
		if err := writeManPage(cmd, file); err != nil {
			return reports.CannotWrite(file, err)
		}
		files = append(files, file)
	}
	if a.JSON {
		return a.PrintJSON(map[string][]string{"files": files})
	}
	_, err := fmt.Fprintln(a.Stdout, strings.Join(files, "\n"))
	return err
}

// documented returns a command and the commands below it, except help and hidden commands.
func documented(cmd *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{cmd}
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() && !sub.IsAdditionalHelpTopicCommand() {
			all = append(all, documented(sub)...)
		}
	}
	return all
}

func writeManPage(cmd *cobra.Command, file string) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer f.Close()
	shown := *cmd
	shown.Long = codeBlocks(cmd.Long)
	if err := doc.GenMan(&shown, &doc.GenManHeader{Source: version()}, f); err != nil {
		return err
	}
	return f.Close()
}

// codeBlocks turns the indented parts of a help text into Markdown code blocks, for package doc.
func codeBlocks(text string) string {
	parts := strings.Split(text, "\n\n")
	for i, part := range parts {
		if strings.HasPrefix(part, " ") {
			parts[i] = "```\n" + part + "\n```"
		}
	}
	return strings.Join(parts, "\n\n")
}
