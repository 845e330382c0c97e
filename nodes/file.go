package nodes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/internal/rootfs"
	"github.com/weftrun/weft/internal/sniff"
	"github.com/weftrun/weft/state"
)

// maxFile limits what is read and what is written.
const maxFile = 16 << 20

// File reads a file, or writes one.
//
//	load:
//	  file:
//	    read: weather.csv
//	    columns: {date: string, rain: number}
//	  output: {days: "${{ result.rows }}"}
//	  next: save
//
//	save:
//	  file:
//	    write: report.md
//	    text: ${{ state.report }}
//	  next: END
//
// A file is read only below the workflow's root folder and written only below the
// folder out in it, also through links. Files are at most 16 MiB of UTF-8; as blobs they have any
// size and content. A write replaces the file as a whole or not at all; a run that is resumed after
// a crash may write the same file once more.
type File struct {
	// Read is the file to read, as seen from the root folder.
	Read string `json:"read,omitempty"`
	// Format is text, json, csv or blob. Without it the file's ending decides; an unknown
	// one means text.
	Format string `json:"format,omitempty"`
	// Columns has the types of CSV columns: string, int, number or bool. Columns that are not in it
	// are strings. An empty cell of another type than string is null.
	Columns map[string]string `json:"columns,omitempty"`

	// Write is the file to write, as seen from the folder out.
	Write string `json:"write,omitempty"`
	// Text is the text to write, and Blob the blob. Only one may be set.
	Text string `json:"text,omitempty"`
	Blob Blob   `json:"blob,omitzero"`
}

// FileResult is the result of a File. Its fields depend on the operation.
type FileResult struct {
	Text string           `json:"text,omitempty"` // read, format text
	JSON any              `json:"json,omitempty"` // read, format json
	Rows []map[string]any `json:"rows,omitempty"` // read, format csv: an object a line
	// Blob is the content that was read, format blob. Its type follows from its first bytes.
	Blob *state.BlobRef `json:"blob,omitempty"`
	// Path is the file that was written, as seen from the workflow's folder if it is
	// below it, and Bytes its size.
	Path  string `json:"path,omitempty"`
	Bytes int64  `json:"bytes,omitempty"`
}

// Check refuses a node that reads and writes, or does neither.
func (f *File) Check(given func(string) bool) error {
	switch {
	case given("read") == given("write"):
		return errors.New("give read or write, and not both")
	case given("write") && (given("format") || given("columns")):
		return errors.New("format and columns go with read")
	case given("read") && (given("text") || given("blob")):
		return errors.New("text and blob go with write")
	case given("write") && given("text") == given("blob"):
		return errors.New("write needs text or blob, and not both")
	case f.Read != "" && !filepath.IsLocal(filepath.FromSlash(f.Read)):
		return fmt.Errorf("read %s: it is outside of the workflow's folder", f.Read)
	case f.Write != "" && !filepath.IsLocal(filepath.FromSlash(f.Write)):
		return fmt.Errorf("write %s: it is outside of the folder for output", f.Write)
	}
	return errors.Join(f.checkFormat(), f.checkColumns())
}

func (f *File) checkFormat() error {
	switch f.Format {
	case "", "text", "json", "csv", "blob":
		return nil
	}
	return fmt.Errorf("format must be text, json, csv or blob, not %q", f.Format)
}

// Run reads or writes.
func (f *File) Run(ctx context.Context, env workflow.Env) (any, error) {
	switch {
	case f.Write != "":
		return f.write(ctx, env)
	case f.Read == "":
		return nil, &refusal{"the name of the file is empty"}
	case f.Format == "blob":
		return f.readBlob(ctx, env)
	}
	data, err := readBelow(env.Root, f.Read)
	if err != nil {
		return nil, err
	}
	if !utf8.Valid(data) {
		return nil, &fileError{"read", f.Read, env.Root, errors.New("it is not UTF-8 text")}
	}
	switch f.format() {
	case "csv":
		rows, err := f.rows(data)
		return map[string]any{"rows": rows}, err // plain values: a number that is whole stays a number
	case "json":
		var v any
		if err := unmarshal(data, &v); err != nil {
			return nil, &fileError{"read", f.Read, env.Root, err}
		}
		return map[string]any{"json": v}, nil
	}
	return map[string]any{"text": string(data)}, f.checkFormat()
}

func (f *File) readBlob(ctx context.Context, env workflow.Env) (any, error) {
	file, err := rootfs.Open(env.Root, filepath.FromSlash(f.Read))
	if err != nil {
		return nil, &fileError{"read", f.Read, env.Root, err}
	}
	defer file.Close()
	ref, err := sniff.Put(ctx, state.PutBlob, file, "")
	if err != nil {
		return nil, &fileError{"read", f.Read, env.Root, err}
	}
	return FileResult{Blob: &ref}, nil
}

func (f *File) format() string {
	if f.Format != "" {
		return f.Format
	}
	return strings.ToLower(strings.TrimPrefix(filepath.Ext(f.Read), "."))
}

func readBelow(folder, name string) ([]byte, error) {
	data, err := rootfs.ReadFile(folder, filepath.FromSlash(name), maxFile)
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("it is larger than %d MiB", maxFile>>20)
	}
	if err != nil {
		return nil, &fileError{"read", name, folder, err}
	}
	return data, nil
}

func unmarshal(data []byte, v *any) error {
	if !json.Valid(data) {
		return json.Unmarshal(data, v)
	}
	dec := json.NewDecoder(strings.NewReader(string(data)))
	dec.UseNumber()
	return dec.Decode(v)
}

// fileError names the file, the folder, and the operation that failed.
type fileError struct {
	verb, name, folder string
	err                error
}

func (e *fileError) Error() string {
	why := e.err
	if p := (*fs.PathError)(nil); errors.As(why, &p) {
		why = p.Err
	}
	return fmt.Sprintf("%s %s in %s: %v", e.verb, e.name, e.folder, why)
}

func (e *fileError) Unwrap() error { return e.err }

// Retryable reports false for a file that does not exist.
func (e *fileError) Retryable() bool { return !errors.Is(e.err, fs.ErrNotExist) }
