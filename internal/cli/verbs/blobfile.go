package verbs

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/blob"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/cli/reports"
	"github.com/weftrun/weft/internal/sniff"
	"github.com/weftrun/weft/internal/values"
)

// blobFiles splits the flags NAME=@FILE of fields that are blobs from the others. The last flag of
// a name wins.
func (s *session) blobFiles(specs []string) (others []string, files map[string]string) {
	files = map[string]string{}
	schema := s.graph.Schemas().Input
	for _, spec := range specs {
		name, value, _ := strings.Cut(spec, "=")
		delete(files, name)
		if path, ok := strings.CutPrefix(value, "@"); ok && isBlob(schema, name) {
			files[name] = path
			continue
		}
		others = append(others, spec)
	}
	return others, files
}

// isBlob reports whether a field of a schema is a blob.
func isBlob(schema json.RawMessage, field string) bool {
	return gjson.GetBytes(schema, "properties."+gjson.Escape(field)+`.properties.\$blob`).Exists()
}

// putFile stores a file as a blob of the thread, and returns its name.
func (s *session) putFile(ctx context.Context, path string) (json.RawMessage, error) {
	blobs := checkpoint.BlobsIn(s.store)
	if blobs == nil {
		return nil, reports.Usage("add --blobs store or --blobs folder:DIR", "%s goes into a blob, and the store is opened without blobs", path)
	}
	file, err := openRegular(path)
	if err != nil {
		return nil, reports.Usage("check the path", "the input file %s cannot be read: %w", path, err)
	}
	defer file.Close()
	ref, err := sniff.Put(ctx, blobs.Of(s.thread).Put, file, "")
	if err != nil {
		return nil, fmt.Errorf("storing %s: %w", path, err)
	}
	return json.Marshal(ref)
}

// checkSizes returns an error if a value names a blob of the store with another size than it has.
func (s *session) checkSizes(ctx context.Context, given map[string]json.RawMessage) error {
	blobs, ok := checkpoint.BlobsIn(s.store).(*blob.Store)
	if !ok {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !bytes.Contains(given[name], []byte("blob")) && !bytes.Contains(given[name], []byte(`\u`)) { // \u escapes a letter
			continue
		}
		tree, err := values.Decode(given[name])
		if err != nil {
			continue // the graph refuses it
		}
		for hash, size := range blob.NamesIn(tree) {
			err := blobs.CheckSize(ctx, hash, size)
			if errors.Is(err, blob.ErrNotFound) {
				continue // the run refuses it
			}
			if e := (*blob.SizeError)(nil); errors.As(err, &e) {
				return reports.Usage("give the size of the blob, or its content with "+name+"=@FILE", "the input %s: %w", name, e)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// blobMark precedes the hash in the JSON of the name of a blob. In a text it would be escaped.
const blobMark = `"$blob":"`

// checkBlobs returns an error if the store is opened without blobs, and a value of the thread is in
// one, or names one. at is the checkpoint that gets the decision. Without this check a node would
// fail after the decision is stored. The workers of an engine open the store with their own flags.
func (s *session) checkBlobs(ctx context.Context, at moment, p graph.CommitInfo) error {
	if checkpoint.BlobsIn(s.store) != nil || s.grants.engine != "" {
		return nil
	}
	read := []moment{at}
	if at.namespace != "" {
		read = append(read, moment{})
	}
	for _, in := range p.Interrupts {
		if m := (moment{namespace: in.Namespace}); !slices.Contains(read, m) {
			read = append(read, m)
		}
	}
	for _, m := range read {
		values, _, err := s.stored().State(ctx, checkpoint.Key{Thread: s.thread, Namespace: m.namespace}, m.at)
		if (m.namespace != "" || m.at != 0) && errors.Is(err, checkpoint.ErrNotFound) {
			continue // the namespace has no checkpoint of its own, or the graph will refuse the moment
		}
		if err != nil {
			return err
		}
		for _, v := range values {
			switch {
			case errors.Is(v.Err, checkpoint.ErrNoBlobs):
				return v.Err
			case bytes.Contains(v.Value, []byte(blobMark)):
				return reports.Usage("add the blobs of the store: --blobs store, or --blobs folder:DIR; nothing was decided",
					"the field %q of thread %q is a blob, and the store is opened without blobs", v.Field, s.thread)
			}
		}
	}
	return nil
}

// openRegular opens a file that is neither a folder nor a pipe. The error does not repeat the path.
func openRegular(path string) (*os.File, error) {
	info, err := os.Stat(path)
	var file *os.File
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		return nil, errors.New("not a regular file")
	default:
		file, err = os.Open(path)
	}
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		err = pe.Err
	}
	return file, err
}

// printClaims lists the blobs of the thread. One that was deleted may have some.
func (s *session) printClaims(ctx context.Context, blobs *blob.Store) error {
	found := false
	for c, err := range blobs.Claims(ctx, s.thread) {
		if err != nil {
			return err
		}
		found = true
		if s.JSON {
			err = s.PrintJSON(struct {
				Hash  string `json:"hash"`
				Bytes int64  `json:"bytes"`
			}{c.Hash, c.Size})
		} else {
			_, err = fmt.Fprintf(s.Stdout, "%s %d bytes\n", c.Hash, c.Size)
		}
		if err != nil {
			return err
		}
	}
	if found {
		return nil
	}
	if _, err := s.mustInspectExactly(ctx); err != nil {
		return err
	}
	s.Note("thread %q claims no blobs here", s.thread)
	return nil
}

// printBlob writes the content of a blob of a thread to a file, or with "" to stdout. A unique
// prefix of the hash names it.
func (a *app) printBlob(ctx context.Context, blobs *blob.Store, thread, prefix, path string) error {
	var found []string
	for c, err := range blobs.Claims(ctx, thread) {
		if err != nil {
			return err
		}
		if strings.HasPrefix(c.Hash, prefix) {
			found = append(found, c.Hash)
		}
	}
	switch len(found) {
	case 0:
		return reports.Usage(a.Command("blobs", thread)+" lists its blobs", "thread %q has no blob %q", thread, prefix)
	case 1:
	default:
		return reports.Usage("give more of its digits", "%d blobs of thread %q begin with %q", len(found), thread, prefix)
	}
	content, err := blobs.Open(ctx, blob.Ref{Hash: found[0]})
	if err != nil {
		return err
	}
	defer content.Close()
	if path == "" {
		_, err = io.Copy(a.Verbatim, content)
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return reports.Usage("choose another --output", "the file %s exists", path)
	}
	if err != nil {
		return reports.Usage("choose another --output", "the file %s cannot be made: %w", path, err)
	}
	_, err = io.Copy(file, content)
	if err = cmp.Or(err, file.Sync(), file.Close()); err != nil {
		return errors.Join(err, os.Remove(path)) // a part is not the whole
	}
	return nil
}
