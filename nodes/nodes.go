package nodes

import (
	"reflect"

	"github.com/weftrun/weft/graph/workflow"
)

// Kinds returns the ready kinds by the name they have in a file. The caller owns the
// map and may add to it.
func Kinds() map[string]workflow.Kind {
	return map[string]workflow.Kind{
		"approval": {New: func() workflow.Runner { return new(Approval) }, Result: reflect.TypeFor[ApprovalResult]()},
		"fail":     {New: func() workflow.Runner { return new(Fail) }, Final: true},
		"file":     {New: func() workflow.Runner { return new(File) }, Result: reflect.TypeFor[FileResult]()},
		"http":     {New: func() workflow.Runner { return new(HTTP) }, Result: reflect.TypeFor[HTTPResult]()},
		"wait":     {New: func() workflow.Runner { return new(Wait) }},
	}
}
