package nodes

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/weftrun/weft/capabilities/recording"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/internal/subprocess"
)

// The limits of a program.
const (
	maxExec     = 16 << 20 // bytes of input, and of output
	maxStderr   = 64 << 10 // bytes of the standard error in a result or an ExecError
	maxShown    = 2 << 10  // bytes of it in the text of an error
	execTimeout = 5 * time.Minute
)

// Exec runs a program, in any language. The program gets the input as JSON on its standard input,
// and writes its result as JSON to its standard output.
//
//	score:
//	  exec:
//	    command: [python3, score.py]
//	    input: {text: "${{ state.text }}"}
//	    timeout: 30s
//	    env: [HOME]
//	  output: {score: "${{ result.json.score }}"}
//
// The program is looked up with the PATH of this process, and runs in the folder of the workflow
// with the named variables of the environment alone. When the node ends, for whatever reason, the
// processes that the program has started are killed, but for those that left its process group; on
// Linux also when this process is killed. At most 64 programs run at once.
//
// Starting programs needs --allow-exec, or AllowExec in [workflow.Options]; no file can grant it.
//
// With persistent the program lives on for further calls, and is replaced when it fails. It reads
// a line {"id": ID, "input": …} for each call, and replies with a line {"id": ID, "result": …} or
// {"id": ID, "error": MESSAGE}. It ends after a minute without a call.
type Exec struct {
	// Command is the program and its arguments.
	Command []string `json:"command"`
	// Input is any value; null if missing.
	Input any `json:"input,omitempty"`
	// Timeout limits a call; 0 is 5 minutes.
	Timeout Duration `json:"timeout,omitempty"`
	// Env are the names of the variables of the environment that the program gets.
	Env []string `json:"env,omitempty"`
	// Persistent keeps the program for further calls.
	Persistent bool `json:"persistent,omitempty"`
}

// ExecResult is the result of an Exec.
type ExecResult struct {
	JSON   any    `json:"json"`
	Stderr string `json:"stderr"` // its end; "" if the program is persistent
}

// ExecError is returned for a program that fails. Its code is one of
//
//   - exec:STATUS, such as exec:3, if it exits with another status than 0, and exec:signal if a
//     signal ends it,
//   - exec_timeout if it does not end in time,
//   - exec_output if its output is not JSON, or not a reply,
//   - exec_too_large if its input or its output is larger than 16 MiB,
//   - exec_error if a persistent program replies with an error,
//   - exec_refused if it cannot or must not be started.
type ExecError struct {
	Program string
	Reason  string
	Stderr  string // the end of its standard error; Error has the last 2 KiB of it
	code    string
}

func (e *ExecError) Error() string {
	text := e.Reason
	if e.Program != "" {
		text = e.Program + ": " + text
	}
	if said := strings.TrimSpace(e.Stderr); len(said) > maxShown {
		text += ": …" + strings.ToValidUTF8(said[len(said)-maxShown:], "")
	} else if said != "" {
		text += ": " + said
	}
	return text
}

// Code returns the code.
func (e *ExecError) Code() string { return e.code }

// Retryable reports whether another attempt may succeed: after a failure of the program itself and
// after a timeout.
func (e *ExecError) Retryable() bool {
	return strings.HasPrefix(e.code, "exec:") || e.code == "exec_timeout" || e.code == "exec_error"
}

// Check refuses commands and variables that cannot be used.
func (e *Exec) Check(given func(string) bool) error {
	err := written(given, map[string]bool{"command": e.Command == nil, "env": e.Env == nil, "persistent": !e.Persistent, "timeout": e.Timeout <= 0})
	if e.Command != nil && (len(e.Command) == 0 || e.Command[0] == "") {
		err = errors.Join(err, &refusal{"command must name a program"})
	}
	for _, name := range e.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			err = errors.Join(err, &refusal{fmt.Sprintf("env must have names of variables, not %q", name)})
		}
	}
	return err
}

// CheckEnv reports that programs must not be started, and variables that are not set.
func (e *Exec) CheckEnv(env workflow.Env) error {
	if !env.AllowExec {
		return errNoExec
	}
	_, err := e.environment(env)
	return err
}

var errNoExec = &ExecError{Reason: "starting programs is not allowed; allow it with --allow-exec, or with AllowExec in Go", code: "exec_refused"}

func (e *Exec) environment(env workflow.Env) (all []string, err error) {
	for _, name := range e.Env {
		value, ok := env.Lookup(name)
		if !ok {
			err = errors.Join(err, &refusal{fmt.Sprintf("the environment variable %s is not set", name)})
		}
		all = append(all, name+"="+value)
	}
	slices.Sort(all)
	return all, err
}

// Recordable is true: the command, its input and its output are recorded.
func (e *Exec) Recordable() bool { return true }

// EnvNames returns the variables of the environment that the program gets.
func (e *Exec) EnvNames() []string { return e.Env }

// Run runs the program, or asks the one that runs.
func (e *Exec) Run(ctx context.Context, env workflow.Env) (any, error) {
	out, err := recording.Exec(ctx, recording.ExecRequest{Command: e.Command, Input: e.Input}, func(ctx context.Context) (recording.ExecOutput, error) {
		return e.call(ctx, env)
	})
	if err != nil {
		return nil, err
	}
	return ExecResult{out.JSON, out.Stderr}, nil
}

func (e *Exec) call(ctx context.Context, env workflow.Env) (out recording.ExecOutput, err error) {
	if !env.AllowExec {
		return out, recording.Unrecordable(errNoExec)
	}
	c, err := e.command(env)
	if err != nil {
		return out, recording.Unrecordable(err)
	}
	input, err := json.Marshal(e.Input)
	if err != nil {
		return out, err
	}
	if len(input) > maxExec {
		return out, &ExecError{Program: e.Command[0], Reason: fmt.Sprintf("the input has %d bytes; the maximum is %d", len(input), maxExec), code: "exec_too_large"}
	}
	limit := time.Duration(e.Timeout)
	if limit == 0 {
		limit = execTimeout
	}
	inTime, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var stderr []byte
	if e.Persistent {
		stderr, err = e.ask(inTime, c, input, &out.JSON)
	} else {
		stderr, err = e.once(inTime, c, input, &out.JSON)
	}
	out.Stderr = ending(env, stderr)
	if err == nil {
		return out, nil
	}
	if ctx.Err() != nil {
		return out, context.Cause(ctx)
	}
	return out, e.failure(err, limit, out.Stderr)
}

// command returns the program with its place.
func (e *Exec) command(env workflow.Env) (c subprocess.Command, err error) {
	c = subprocess.Command{Args: e.Command[1:], MaxOutput: maxExec}
	if c.Dir, err = filepath.Abs(env.Root); err != nil {
		return c, err
	}
	if c.Env, err = e.environment(env); err != nil {
		return c, err
	}
	name := e.Command[0]
	if strings.ContainsRune(name, '/') && !filepath.IsAbs(name) {
		name = filepath.Join(c.Dir, name)
	}
	if c.Path, err = subprocess.Find(name); err != nil {
		return c, &ExecError{Program: e.Command[0], Reason: err.Error(), code: "exec_refused"}
	}
	return c, nil
}

func (e *Exec) once(ctx context.Context, c subprocess.Command, input []byte, result *any) (stderr []byte, err error) {
	output, stderr, err := subprocess.Run(ctx, c, bytes.NewReader(input))
	if err != nil {
		return stderr, err
	}
	if err := unmarshal(output, result); err != nil {
		return stderr, e.noJSON(output, err)
	}
	return stderr, nil
}

func (e *Exec) noJSON(output []byte, err error) error {
	return &ExecError{Program: e.Command[0], Reason: fmt.Sprintf("the output is not JSON: %v: %q", err, beginning(output)), code: "exec_output"}
}

// beginning returns the beginning of a text, for an error.
func beginning(data []byte) string {
	return strings.ToValidUTF8(string(data[:min(len(data), 100)]), "�")
}

// ask is once for a persistent program.
func (e *Exec) ask(ctx context.Context, c subprocess.Command, input []byte, result *any) (stderr []byte, err error) {
	id := graph.ExecutionID(ctx)
	line, err := json.Marshal(map[string]any{"id": id, "input": json.RawMessage(input)})
	if err != nil {
		return nil, err
	}
	var reply struct {
		ID     string          `json:"id"`
		Result json.RawMessage `json:"result"`
		Error  *string         `json:"error"`
	}
	stderr, err = subprocess.Ask(ctx, c, line, func(text []byte) error {
		if err := json.Unmarshal(text, &reply); err != nil {
			return e.noJSON(text, err)
		}
		if reply.ID != id || (reply.Result == nil) == (reply.Error == nil) {
			return &ExecError{Program: e.Command[0], Reason: fmt.Sprintf("the line is no reply: want the id of the call, and a result or an error: %q", beginning(text)), code: "exec_output"}
		}
		return nil
	})
	if err != nil {
		return stderr, err
	}
	if reply.Error != nil {
		return nil, &ExecError{Program: e.Command[0], Reason: *reply.Error, code: "exec_error"}
	}
	return nil, unmarshal(reply.Result, result)
}

// ending returns the end of a standard error, without secrets. They are replaced before it is cut.
func ending(env workflow.Env, stderr []byte) string {
	text := env.Redact(string(stderr))
	return strings.ToValidUTF8(text[max(0, len(text)-maxStderr):], "�")
}

// failure returns the error of a program that has failed.
func (e *Exec) failure(err error, limit time.Duration, stderr string) error {
	var own *ExecError
	var exit *subprocess.ExitError
	f := &ExecError{Program: e.Command[0], Reason: err.Error(), Stderr: stderr, code: "exec_refused"}
	switch {
	case errors.As(err, &own):
		own.Stderr = stderr
		return own
	case errors.Is(err, context.DeadlineExceeded):
		f.Reason, f.code = fmt.Sprintf("it did not end within %s", limit), "exec_timeout"
	case errors.Is(err, subprocess.ErrTooLarge):
		f.code = "exec_too_large"
	case errors.As(err, &exit) && exit.Status < 0:
		f.code = "exec:signal"
	case errors.As(err, &exit):
		f.code = fmt.Sprintf("exec:%d", exit.Status)
	}
	return f
}

var (
	_ workflow.Checker    = (*Exec)(nil)
	_ workflow.EnvChecker = (*Exec)(nil)
	_ workflow.EnvReader  = (*Exec)(nil)
	_ workflow.Recordable = (*Exec)(nil)
)
