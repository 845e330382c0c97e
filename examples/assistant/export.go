package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/weftrun/weft/capabilities"
	"github.com/weftrun/weft/state/agent"
)

// File is a table that was exported.
type File struct {
	Path string `json:"path"`
	Rows int    `json:"rows"`
}

func (File) ContextType() string { return "FILE" }

func (f File) Summary(string) any { return fmt.Sprintf("%d rows are exported to %s.", f.Rows, f.Path) }

// target is the argument that a person approves and may edit.
type target struct {
	File string `json:"file"`
}

// Validate rejects invalid file names. The person is then asked again.
func (t target) Validate() error {
	if !safeName.MatchString(t.File) {
		return fmt.Errorf("%q is no name for a file: letters, digits, _, - and dots, and no folder", t.File)
	}
	return nil
}

// export writes a table as CSV into a folder after a person has approved the file.
func export(out string) capabilities.Capability {
	return capabilities.Func(capabilities.Info{
		Name: "export", Description: "writes a table to a CSV file for others",
		Requires: []string{"TABLE"}, Provides: []string{"FILE"},
		Plan:  &capabilities.PlanGuide{Instructions: "Its input is a table, of this turn or an earlier one.", Priority: 6},
		Match: &capabilities.MatchGuide{Instructions: "When the task wants a table exported, saved or sent as a file."},
	}, func(_ context.Context, c *capabilities.Call) error {
		t, err := agent.Input[Table](c.Contexts(), c.Step)
		if err != nil {
			return err
		}
		to := target{fileName(t.Title) + ".csv"}
		to, err = capabilities.Approve(c, agent.ApprovalRequest{
			Type: "export", Objective: "write “" + t.Title + "”", Message: fmt.Sprintf("%d rows would go to %s.", len(t.Rows), to.File),
		}, to)
		if err != nil { // a question, or a rejection
			return err
		}
		path, err := write(out, to.File, inCSV(t))
		if err != nil {
			return err
		}
		return c.Store(File{path, len(t.Rows)})
	})
}

func inCSV(t Table) string {
	var b strings.Builder
	b.WriteString("period," + strings.Join(t.Columns, ",") + "\n")
	for _, r := range t.Rows {
		b.WriteString(r.Period)
		for _, v := range r.Values {
			b.WriteString("," + strconv.FormatFloat(v, 'f', 1, 64))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

var (
	unsafe   = regexp.MustCompile(`[^a-z0-9_]+`)
	safeName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}$`)
)

// fileName returns a file name for a title.
func fileName(title string) string {
	name := strings.Trim(unsafe.ReplaceAllString(strings.ToLower(title), "-"), "-")
	return name[:min(len(name), 80)]
}

// write writes a file into a folder, and never outside of it. Writing twice has the effect of once.
func write(out, name, text string) (path string, err error) {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return "", err
	}
	root, err := os.OpenRoot(out) // links in it cannot leave it
	if err != nil {
		return "", err
	}
	defer root.Close()
	return filepath.ToSlash(filepath.Join(out, name)), root.WriteFile(name, []byte(text), 0o644)
}
