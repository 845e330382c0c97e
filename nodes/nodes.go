package nodes

import (
	"reflect"

	"github.com/weftrun/weft/graph/workflow"
)

// Kinds returns the standard kinds by their name in a file, for a program without models, tools and
// agents; with those see [Program]. The caller owns the map and may add to it.
func Kinds() map[string]workflow.Kind { return Program{}.Kinds() }

// plainKinds returns the kinds that use nothing of the program.
func plainKinds() map[string]workflow.Kind {
	return map[string]workflow.Kind{
		"approval": {About: "pauses the run and asks a person", New: func() workflow.Runner { return new(Approval) }, Result: reflect.TypeFor[ApprovalResult]()},
		"exec":     {About: "runs a program, in any language, that gets and returns JSON", New: func() workflow.Runner { return new(Exec) }, Result: reflect.TypeFor[ExecResult](), Outside: true},
		"fail":     {About: "ends the run as failed", New: func() workflow.Runner { return new(Fail) }, Final: true},
		"file":     {About: "reads a file below the workflow's folder, or writes one below its folder out", New: func() workflow.Runner { return new(File) }, Result: reflect.TypeFor[FileResult]()},
		"http":     {About: "makes one HTTP request", New: func() workflow.Runner { return new(HTTP) }, Result: reflect.TypeFor[HTTPResult](), Outside: true},
		"wait":     {About: "waits for a while, until a time, or for an event", New: func() workflow.Runner { return new(Wait) }, Waits: true},
	}
}
