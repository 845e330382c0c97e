package subprocess

import (
	"context"
	"io"
	"time"
)

// Program is a program that runs beside this process. [Start] starts one. It counts as one of the
// [Limit] programs until Close.
type Program struct {
	In  io.WriteCloser // its standard input
	Out io.ReadCloser  // its standard output; Command.MaxOutput does not limit it
	w   *worker
}

// Start starts a program and returns without waiting for it. It waits for a place among the
// programs that run at once, until ctx ends. Later the end of ctx does not matter.
func Start(ctx context.Context, c Command) (*Program, error) {
	if err := acquire(ctx); err != nil {
		return nil, err
	}
	pool.makeRoom()
	w, err := c.startWorker()
	if err != nil {
		release()
		return nil, err
	}
	return &Program{In: w.in, Out: w.out, w: w}, nil
}

// Done is closed when the program has ended.
func (p *Program) Done() <-chan struct{} { return p.w.done }

// Stderr returns the end of the standard error, at most [MaxTail] bytes.
func (p *Program) Stderr() []byte { return p.w.errs.bytes() }

// Close closes the standard input, waits until the program has ended, but at most for the given
// time, and kills what is left of its process group. It returns an *[ExitError] if the program has
// failed or was killed. It must be called once.
func (p *Program) Close(wait time.Duration) error {
	defer release()
	_ = p.In.Close()
	late := time.NewTimer(wait)
	defer late.Stop()
	select {
	case <-p.w.done:
	case <-late.C:
	}
	return p.w.end()
}
