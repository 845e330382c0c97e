package terminal

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"runtime/debug"
)

// MaxInput is the limit of one input in bytes: of all --input and --config of a run together, of a
// message of chat, and of a file that fmt formats. A store takes values of fields up to this size.
const MaxInput = 16 << 20

// ErrTooLong is returned when an input is longer than the limit.
var ErrTooLong = errors.New("it is too long")

// ReadAtMost reads all of r. It returns ErrTooLong when r has more than limit bytes. It needs up to
// twice the limit of memory, since it joins the parts at the end.
func ReadAtMost(r io.Reader, limit int) ([]byte, error) {
	const part = 64 << 10
	var parts [][]byte
	for left := limit + 1; ; {
		p := make([]byte, min(part, left))
		n, err := io.ReadFull(r, p)
		parts, left = append(parts, p[:n]), left-n
		switch {
		case left == 0:
			return nil, ErrTooLong
		case err == io.EOF || err == io.ErrUnexpectedEOF:
			data := bytes.Join(parts, nil)
			if len(parts) > 16 {
				parts = nil
				debug.FreeOSMemory() // the caller may copy the data again
			}
			return data, nil
		case err != nil:
			return nil, err
		}
	}
}

// ReadFileAtMost is ReadAtMost for a file. A regular file that is too long is not read at all.
func ReadFileAtMost(path string, limit int) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return ReadAtMost(f, limit)
	}
	if info.Size() > int64(limit) {
		return nil, ErrTooLong
	}
	data := make([]byte, info.Size())
	n, err := io.ReadFull(f, data)
	if err == io.ErrUnexpectedEOF || err == io.EOF && n == 0 { // the file was truncated meanwhile
		return data[:n], nil
	}
	if err != nil {
		return nil, err
	}
	more, err := ReadAtMost(f, limit-n)
	return append(data, more...), err
}

// Await returns the result of do, or the cause of ctx when ctx ends first. The goroutine of do then
// goes on.
func Await[T any](ctx context.Context, do func() (T, error)) (T, error) {
	type done struct {
		v   T
		err error
	}
	got := make(chan done, 1)
	go func() {
		v, err := do()
		got <- done{v, err}
	}()
	select {
	case d := <-got:
		return d.v, d.err
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
}
