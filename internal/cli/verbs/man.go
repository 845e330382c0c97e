package verbs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

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
		return reports.CannotRead(dir, err)
	}
	var files []string
	for _, cmd := range append([]*cobra.Command{root}, root.Commands()...) {
		if cmd.Hidden || cmd.Name() == "help" {
			continue
		}
		file := filepath.Join(dir, manName(cmd)+".1")
		if err := os.WriteFile(file, []byte(manPage(cmd)), 0o644); err != nil {
			return reports.CannotRead(file, err)
		}
		files = append(files, file)
	}
	if a.JSON {
		return a.PrintJSON(map[string][]string{"files": files})
	}
	_, err := fmt.Fprintln(a.Stdout, strings.Join(files, "\n"))
	return err
}

func manName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// manPage is a command as a page in roff.
func manPage(cmd *cobra.Command) string {
	var b strings.Builder
	name := manName(cmd)
	fmt.Fprintf(&b, ".TH %s 1 \"\" %s\n.SH NAME\n%s \\- %s\n", quoteRoff(strings.ToUpper(name)), quoteRoff(version()), inRoff(name), inRoff(cmd.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n", inRoff(cmd.UseLine()))
	if cmd.Long != "" {
		fmt.Fprintf(&b, ".SH DESCRIPTION\n%s\n", paragraphs(cmd.Long))
	}
	if cmd.HasSubCommands() {
		b.WriteString(".SH COMMANDS\n")
		for _, sub := range cmd.Commands() {
			if !sub.Hidden && sub.Name() != "help" {
				fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", inRoff(sub.Use), inRoff(sub.Short))
				if own := strings.TrimSuffix(sub.LocalNonPersistentFlags().FlagUsagesWrapped(70), "\n"); own != "" {
					fmt.Fprintf(&b, ".nf\n%s\n.fi\n", inRoff(own))
				}
			}
		}
	}
	flags := cmd.LocalFlags().FlagUsagesWrapped(70) + cmd.InheritedFlags().FlagUsagesWrapped(70)
	fmt.Fprintf(&b, ".SH OPTIONS\n.nf\n%s\n.fi\n", inRoff(strings.TrimSuffix(flags, "\n")))
	return b.String()
}

// paragraphs keeps lines that are indented as they stand.
func paragraphs(text string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(text, "\n\n") {
		if strings.HasPrefix(part, " ") {
			fmt.Fprintf(&b, ".PP\n.nf\n%s\n.fi\n", inRoff(part))
		} else {
			fmt.Fprintf(&b, ".PP\n%s\n", inRoff(part))
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// inRoff keeps what means something in roff from doing so.
func inRoff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}

func quoteRoff(text string) string { return `"` + strings.ReplaceAll(inRoff(text), `"`, "") + `"` }
