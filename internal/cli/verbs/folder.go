package verbs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/weftrun/weft/capabilities/recording"
	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/internal/cli/reports"
	"github.com/weftrun/weft/internal/cli/terminal"
)

// workflowKey matches a line that identifies a YAML file as a workflow.
var workflowKey = regexp.MustCompile(`(?m)^["']?nodes?["']?[ \t]*:`)

// filesIn replaces each folder in names by the workflows below it, in order. A folder without
// workflows is an error.
func (a *app) filesIn(names []string) (files []string, err error) {
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil || !info.IsDir() { // the reader of the file reports the error
			files = append(files, name)
			continue
		}
		found, others, err := workflowsBelow(name)
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return nil, reports.Usage("name a workflow file, or a folder with some", "there is no workflow below %s: no file that ends in .yaml or .yml has nodes", name)
		}
		if others > 0 {
			a.Note("below %s %s no nodes, and no workflow", name, plural(others, "YAML file has", "YAML files have"))
		}
		files = append(files, found...)
	}
	return files, nil
}

// plural returns a number with the matching words.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprint(n) + " " + many
}

// workflowsBelow returns the workflows below a folder, and how many other YAML files there are. It
// leaves out what is hidden, such as an editor's lock .#flow.yaml, and what is no regular file. A
// file that cannot be read, such as a link to nothing, is among the workflows: its reader reports
// the error, and the others are read.
func workflowsBelow(dir string) (found []string, others int, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch ext := filepath.Ext(path); {
		case errors.Is(err, fs.ErrNotExist) && path != dir: // a folder that was removed meanwhile
			return nil
		case err != nil:
			return reports.CannotRead(path, err)
		case d.IsDir() && path != dir && strings.HasPrefix(d.Name(), "."):
			return filepath.SkipDir
		case d.IsDir() || ext != ".yaml" && ext != ".yml" || strings.HasPrefix(d.Name(), "."):
			return nil
		}
		var text []byte
		info, err := os.Stat(path) // of what a link leads to
		if err == nil {
			if !info.Mode().IsRegular() {
				return nil
			}
			text, err = terminal.ReadFileAtMost(path, terminal.MaxInput)
		}
		switch {
		case err == terminal.ErrTooLong:
			others++
		case err != nil || workflowKey.Match(text) || d.Name() == workflow.ConfigName:
			found = append(found, path)
		case recording.Is(path):
		default:
			others++
		}
		return nil
	})
	return found, others, err
}
