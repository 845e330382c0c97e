package terminal

import (
	"bytes"
	"errors"
	"io"
	"os"
	"runtime/debug"
)

// MaxInput bounds what a command reads at once, in bytes: all --input and --config of a run together,
// a message of chat, and a file that fmt formats. It is what a store takes as the value of one field.
const MaxInput = 16 << 20

// ErrTooLong is returned for what is longer than may be read.
var ErrTooLong = errors.New("it is too long")

// ReadAtMost reads all of r, or returns errLong once it has read more than limit bytes. It holds at
// most the limit while it reads, and twice that when it puts the parts together.
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
				debug.FreeOSMemory() // what reads the data may copy it again
			}
			return data, nil
		case err != nil:
			return nil, err
		}
	}
}

// ReadFileAtMost is readAtMost for a file. A regular one that is too long is not read at all.
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
	if err == io.ErrUnexpectedEOF || err == io.EOF && n == 0 { // it has become shorter
		return data[:n], nil
	}
	if err != nil {
		return nil, err
	}
	more, err := ReadAtMost(f, limit-n)
	return append(data, more...), err
}
