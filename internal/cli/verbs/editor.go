package verbs

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weftrun/weft/internal/cli/author"
	"github.com/weftrun/weft/server/studio"
)

// editor returns the editor of the studio. With keeps it reads and writes the workflows that are
// served; without, it checks texts. served are the workflows at the start.
func (a *app) editor(s sources, served edition, keeps bool) studio.Editor {
	f := &author.Folder{Options: a.shared, Named: func(graph string) string { return served.files[graph] }}
	folders := s.folders()
	if !keeps || len(folders) == 0 {
		return f
	}
	f.Path, f.List = above(folders), s.workflows
	return f
}

// workflows returns the workflow files that there are now. A folder may have none: its last one was
// deleted, or is just being written.
func (s sources) workflows() (files []string, err error) {
	for _, arg := range s.all() {
		if s.has(arg) {
			continue
		}
		found := []string{arg}
		if info, err := os.Stat(arg); err == nil && info.IsDir() {
			if found, _, err = workflowsBelow(arg); err != nil {
				return nil, err
			}
		}
		files = append(files, slices.DeleteFunc(found, isShared)...)
	}
	return files, nil
}

// above returns the folder that has all of some folders: the current one, if they are below it.
func above(folders []string) string {
	common := folders[0]
	for _, f := range folders[1:] {
		for !within(common, f) {
			up := filepath.Dir(common)
			if up == common {
				return up
			}
			common = up
		}
	}
	return common
}

// within reports whether a folder is another one or below it.
func within(folder, other string) bool {
	below, err := filepath.Rel(folder, other)
	return err == nil && below != ".." && !strings.HasPrefix(below, ".."+string(os.PathSeparator))
}
