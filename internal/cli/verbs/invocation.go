package verbs

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	"github.com/weftrun/weft/internal/cli/reports"
)

// invocation returns the command that started this program, so that a user can copy hints: a name,
// a path, or go run with a package.
func invocation(name string) string {
	exe, err := os.Executable()
	if err == nil && fromGoRun(exe) {
		return goRun(name)
	}
	if len(os.Args) > 0 && strings.ContainsRune(os.Args[0], filepath.Separator) {
		return reports.Quote(os.Args[0])
	}
	return name
}

// fromGoRun reports whether a program lies in a folder in which go run builds.
func fromGoRun(exe string) bool {
	for _, part := range strings.Split(filepath.ToSlash(filepath.Dir(exe)), "/") {
		if strings.HasPrefix(part, "go-build") {
			return true
		}
	}
	return false
}

// goRun returns the go run command for the package of this program.
func goRun(name string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Path == "" || info.Path == "command-line-arguments" {
		return name
	}
	dir := strings.TrimPrefix(strings.TrimPrefix(info.Path, info.Main.Path), "/")
	if _, err := os.Stat("go.mod"); err != nil {
		return "go run " + info.Path
	}
	if dir == "" {
		return "go run ."
	}
	return "go run ./" + dir
}
