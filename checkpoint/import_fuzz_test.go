package checkpoint_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint"
)

// FuzzImport reads files with valid checksums and arbitrary lines. An imported thread can be
// exported again. A rejected file leaves nothing in the store.
func FuzzImport(f *testing.F) {
	store := new(checkpoint.Memory)
	w := open[notes](f, store)
	for range 3 {
		step(w, func(s *notes) { s.Title.Set("t"); s.Lines.Append("l"); s.Index.Put("k", 1) })
	}
	var file bytes.Buffer
	if err := checkpoint.Export(ctx, store, "t", &file); err != nil {
		f.Fatal(err)
	}
	var objects []string
	for line := range strings.Lines(file.String()) {
		objects = append(objects, line[33:])
	}
	good := strings.Join(objects, "")
	f.Add(good)
	f.Add(strings.Replace(good, `"number":2`, `"number":1`, 1))
	f.Add(strings.Replace(good, `"chunk":1`, `"chunk":-1`, 1))
	f.Add(strings.Replace(good, `"record":{`, `"record":[`, 1))
	f.Add(objects[0] + objects[len(objects)-1])
	f.Fuzz(func(t *testing.T, text string) {
		store := new(checkpoint.Memory)
		err := checkpoint.Import(ctx, store, "u", strings.NewReader(withSums(text)))
		spaces, listErr := store.Namespaces(ctx, "u")
		if listErr != nil {
			t.Fatal(listErr)
		}
		switch {
		case err != nil && len(spaces) > 0:
			t.Errorf("%q is refused (%v) and leaves %q", text, err, spaces)
		case err == nil && len(spaces) > 0:
			if err := checkpoint.Export(ctx, store, "u", io.Discard); err != nil && !errors.Is(err, checkpoint.ErrNotFound) {
				t.Errorf("%q is taken and cannot be exported: %v", text, err)
			}
		}
	})
}

// withSums puts before each line the checksum that it has in an exported file.
func withSums(text string) string {
	var out strings.Builder
	sum := sha256.New()
	for line := range strings.Lines(text) {
		sum.Write([]byte(line))
		out.WriteString(hex.EncodeToString(sum.Sum(nil))[:32] + " " + line)
	}
	return out.String()
}
