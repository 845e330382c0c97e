package recording

import "context"

// ExecRequest is a call of a program. Its environment is not recorded.
type ExecRequest struct {
	Command []string `json:"command"`
	Input   any      `json:"input"`
}

// ExecOutput is what a program returned. A program that fails is an error, with its exit code in
// the code of the error.
type ExecOutput struct {
	JSON   any    `json:"json"` // numbers are of json.Number
	Stderr string `json:"stderr,omitempty"`
}

// Exec calls a program by do, or returns the output that a [Recorder] of the context has. Without a
// Recorder it is do. A change of the program itself is not a difference.
func Exec(ctx context.Context, r ExecRequest, do func(context.Context) (ExecOutput, error)) (ExecOutput, error) {
	name := ""
	if len(r.Command) > 0 {
		name = r.Command[0]
	}
	return outside(ctx, kindExec, name, r, do)
}
