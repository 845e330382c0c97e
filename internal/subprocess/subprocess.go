package subprocess

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"time"
)

// Limit is how many programs run at once.
const Limit = 64

// MaxTail is how much of the standard error of a program is returned, its end, in bytes.
const MaxTail = 128 << 10

// Command is a program and what it gets.
type Command struct {
	Path string // absolute, or seen from Dir
	Args []string
	Dir  string
	Env  []string // NAME=VALUE; nothing else of the environment passes
	// MaxOutput limits the standard output, or one line of it for [Ask], in bytes.
	MaxOutput int
}

// Errors of programs, which the errors of this package wrap. [ExitError] is another one.
var (
	ErrStart    = errors.New("the program cannot be started")
	ErrTooLarge = errors.New("the output is too large")
)

// ExitError is returned for a program that has failed.
type ExitError struct {
	Status int    // the exit status; -1 if a signal has ended the program
	Reason string // such as "exit status 3" or "signal: killed"
}

func (e *ExitError) Error() string { return e.Reason }

// slots are the programs that run.
var slots = make(chan struct{}, Limit)

// acquire waits for a slot.
func acquire(ctx context.Context) error {
	select {
	case slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%d programs are running: %w", Limit, context.Cause(ctx))
	}
}

func release() { <-slots }

// Run runs a program with the input and returns its output, and the end of its standard error in
// any case. The error is that of ctx if it has ended.
func Run(ctx context.Context, c Command, input io.Reader) (output, stderr []byte, err error) {
	if err := acquire(ctx); err != nil {
		return nil, nil, err
	}
	defer release()
	pool.makeRoom()
	cmd := c.cmd()
	cmd.Stdin = input
	out, errs := &bounded{max: c.MaxOutput}, new(tail)
	cmd.Stdout, cmd.Stderr = out, errs
	g := &group{cmd: cmd}
	out.full = g.kill
	if err := g.start(); err != nil {
		return nil, nil, err
	}
	stop := context.AfterFunc(ctx, g.kill)
	err = g.wait()
	stop()
	switch {
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case out.tooLarge():
		err = fmt.Errorf("%w: it is larger than %d bytes", ErrTooLarge, c.MaxOutput)
	}
	return out.data, errs.bytes(), err
}

func (c Command) cmd() *exec.Cmd {
	cmd := exec.Command(c.Path, c.Args...)
	cmd.Dir, cmd.Env = c.Dir, append([]string{}, c.Env...) // not nil, which is the whole environment
	cmd.WaitDelay = waitDelay
	return cmd
}

// waitDelay is how long output is read after the program has ended, if another process holds it.
const waitDelay = time.Second

// group is the process group of a program that was started.
type group struct {
	cmd *exec.Cmd

	mu    sync.Mutex
	ended bool // the id of the group may belong to other processes
}

func (g *group) start() error {
	if err := start(g.cmd); err != nil {
		return fmt.Errorf("%w: %w", ErrStart, err)
	}
	return nil
}

// kill ends all processes of the group.
func (g *group) kill() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.ended {
		killGroup(g.cmd.Process)
	}
}

// wait waits for the program to end, kills what is left of its group, and returns an *[ExitError]
// if the program has failed.
func (g *group) wait() error {
	untilExit(g.cmd.Process)
	if killsBeforeWait {
		g.end()
	}
	err := g.cmd.Wait()
	g.end()
	if g.cmd.ProcessState == nil || g.cmd.ProcessState.Success() {
		return nil // an error of a pipe that a killed process has held does not matter
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return &ExitError{exit.ExitCode(), exit.Error()}
	}
	return err
}

// end kills the group for the last time.
func (g *group) end() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.ended {
		killGroup(g.cmd.Process)
		unwatch(g.cmd.Process)
		g.ended = true
	}
}

// bounded stores output up to a size, and calls full when there is more.
type bounded struct {
	max  int
	full func()

	mu   sync.Mutex
	data []byte
	over bool
}

func (b *bounded) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over {
		return len(p), nil
	}
	if len(b.data)+len(p) > b.max {
		b.over = true
		b.full()
		return len(p), nil
	}
	b.data = append(b.data, p...)
	return len(p), nil
}

func (b *bounded) tooLarge() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.over
}

// tail stores the end of what is written.
type tail struct {
	mu   sync.Mutex
	data []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = append(t.data, p...)
	if len(t.data) > 2*MaxTail {
		t.data = append([]byte(nil), t.data[len(t.data)-MaxTail:]...)
	}
	return len(p), nil
}

// bytes returns the end, of at most MaxTail bytes.
func (t *tail) bytes() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]byte(nil), t.data[max(0, len(t.data)-MaxTail):]...)
}

// Find returns the path of a program, which is looked up in PATH unless it contains a slash.
func Find(name string) (string, error) {
	path, err := exec.LookPath(name)
	if errors.Is(err, exec.ErrDot) {
		return "", fmt.Errorf("%w: %s is in the working directory; write ./%s", ErrStart, name, name)
	}
	if err != nil {
		return "", fmt.Errorf("%w: %s: %w", ErrStart, name, errors.Unwrap(err))
	}
	return path, nil
}
