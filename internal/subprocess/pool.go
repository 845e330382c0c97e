package subprocess

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// idleFor is how long a worker without work lives.
const idleFor = time.Minute

// pool has the workers without work of this process, the one that has rested longest first.
var pool workers

type workers struct {
	mu   sync.Mutex
	idle []*worker
}

// Ask sends a line to a worker that runs the command, and gives the line that it replies to check.
// It returns the end of the standard error if the worker has failed. A worker handles one line at a
// time, and lives on. One that fails, is late, has ended or whose reply check refuses is replaced
// for the next call. The error is that of ctx if it has ended.
func Ask(ctx context.Context, c Command, line []byte, check func(reply []byte) error) (stderr []byte, err error) {
	if err := acquire(ctx); err != nil {
		return nil, err
	}
	defer release()
	w := pool.take(c.key())
	if w == nil {
		pool.makeRoom()
		if w, err = c.startWorker(); err != nil {
			return nil, err
		}
	}
	stop := context.AfterFunc(ctx, w.group.kill)
	reply, err := w.ask(line, c.MaxOutput)
	inTime := stop()
	if err == nil && inTime {
		if err = check(reply); err == nil {
			pool.put(w)
			return nil, nil
		}
	}
	if inTime && errors.Is(err, io.EOF) {
		w.mayEnd()
	}
	ended := w.end()
	switch {
	case !inTime:
		err = context.Cause(ctx)
	case errors.Is(err, io.EOF) && ended != nil:
		err = ended
	case errors.Is(err, io.EOF):
		err = &ExitError{0, "the program has ended without a reply"}
	}
	return w.errs.bytes(), err
}

// key identifies the workers that can take each other's place.
func (c Command) key() string {
	return strings.Join(slices.Concat([]string{c.Dir, c.Path}, c.Args, []string{""}, c.Env), "\x00")
}

// worker is a program that replies to lines.
type worker struct {
	key   string
	group *group
	in    *os.File
	out   *os.File
	lines *bufio.Reader
	errs  *tail
	timer *time.Timer // ends the worker while it is idle
	done  chan struct{}
	err   error // how it has ended; set before done is closed
}

func (c Command) startWorker() (*worker, error) {
	childIn, in, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrStart, err)
	}
	out, childOut, err := os.Pipe()
	if err != nil {
		_, _ = childIn.Close(), in.Close()
		return nil, fmt.Errorf("%w: %w", ErrStart, err)
	}
	w := &worker{key: c.key(), in: in, out: out, lines: bufio.NewReader(out), errs: new(tail), done: make(chan struct{})}
	cmd := c.cmd()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = childIn, childOut, w.errs
	w.group = &group{cmd: cmd}
	err = w.group.start()
	_, _ = childIn.Close(), childOut.Close()
	if err != nil {
		_, _ = in.Close(), out.Close()
		return nil, err
	}
	go func() {
		w.err = w.group.wait()
		close(w.done)
	}()
	return w, nil
}

// ask writes a line and reads the reply.
func (w *worker) ask(line []byte, most int) ([]byte, error) {
	if _, err := w.in.Write(append(slices.Clip(line), '\n')); err != nil {
		return nil, io.EOF // it does not read any more
	}
	var reply []byte
	for {
		part, err := w.lines.ReadSlice('\n')
		if len(reply)+len(part) > most {
			return nil, fmt.Errorf("%w: a line is larger than %d bytes", ErrTooLarge, most)
		}
		reply = append(reply, part...)
		switch {
		case err == nil:
			return reply, nil
		case errors.Is(err, bufio.ErrBufferFull):
		default:
			return nil, io.EOF
		}
	}
}

// mayEnd waits for a worker that has closed its output to end by itself, so that its exit status is
// known.
func (w *worker) mayEnd() {
	late := time.NewTimer(waitDelay)
	defer late.Stop()
	select {
	case <-w.done:
	case <-late.C:
	}
}

// end kills the worker, unless it has ended, and returns how it has ended.
func (w *worker) end() error {
	w.group.kill()
	<-w.done
	_, _ = w.in.Close(), w.out.Close()
	return w.err
}

// take returns an idle worker, or nil. It drops those that have ended.
func (p *workers) take(key string) *worker {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := len(p.idle) - 1; i >= 0; i-- {
		w := p.idle[i]
		if w.key != key {
			continue
		}
		p.idle = slices.Delete(p.idle, i, i+1)
		w.timer.Stop()
		select {
		case <-w.done:
			w.end()
		default:
			return w
		}
	}
	return nil
}

// put makes a worker idle.
func (p *workers) put(w *worker) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w.timer = time.AfterFunc(idleFor, func() { p.drop(w) })
	p.idle = append(p.idle, w)
}

// drop ends a worker that is still idle.
func (p *workers) drop(w *worker) {
	p.mu.Lock()
	i := slices.Index(p.idle, w)
	if i >= 0 {
		p.idle = slices.Delete(p.idle, i, i+1)
	}
	p.mu.Unlock()
	if i >= 0 {
		w.end()
	}
}

// makeRoom ends idle workers until the caller, which has a slot, may start a program.
func (p *workers) makeRoom() {
	for {
		p.mu.Lock()
		var w *worker
		if len(p.idle) > 0 && len(p.idle)+len(slots) > Limit {
			w = p.idle[0]
		}
		p.mu.Unlock()
		if w == nil {
			return
		}
		w.timer.Stop()
		p.drop(w)
	}
}

// CloseIdle ends the workers of this process that are idle.
func CloseIdle() {
	for {
		pool.mu.Lock()
		var w *worker
		if len(pool.idle) > 0 {
			w = pool.idle[0]
		}
		pool.mu.Unlock()
		if w == nil {
			return
		}
		w.timer.Stop()
		pool.drop(w)
	}
}
