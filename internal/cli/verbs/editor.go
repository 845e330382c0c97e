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
	f.Path = above(folders)
	f.List = func() ([]string, error) {
		names, err := s.names()
		return slices.DeleteFunc(names, s.has), err
	}
	return f
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
