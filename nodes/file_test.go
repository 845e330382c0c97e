package nodes_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/blob"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/nodes"
	"github.com/weftrun/weft/state"
)

func TestFile_ReadsByItsEnding(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.txt", "héllo\n")
	write(t, dir, "sub/b.json", `{"n": 9007199254740993, "f": 1.5, "l": [1, null]}`)
	write(t, dir, "c.csv", "name,n,x,ok\nAda,1,1.5,true\n\"B, C\",,2,false\n")
	gives(t, dir, `file: {read: a.txt}`, `{"text":"héllo\n"}`)
	gives(t, dir, `file: {read: ./sub/../sub/b.json}`, `{"json":{"f":1.5,"l":[1,null],"n":9007199254740993}}`)
	gives(t, dir, `file: {read: sub/b.json, format: text}`, `{"text":"{\"n\": 9007199254740993, \"f\": 1.5, \"l\": [1, null]}"}`)
	gives(t, dir, `file: {read: c.csv, columns: {n: int, x: number, ok: bool}}`,
		`{"rows":[{"n":1,"name":"Ada","ok":true,"x":1.5},{"n":null,"name":"B, C","ok":false,"x":2}]}`)
	gives(t, dir, `file: {read: c.csv}`,
		`{"rows":[{"n":"1","name":"Ada","ok":"true","x":"1.5"},{"n":"","name":"B, C","ok":"false","x":"2"}]}`)
}

func TestFile_ReportsWhatItCannotRead(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "c.csv", "name,n\nAda,1\nBob,x\n")
	write(t, dir, "ragged.csv", "a,b\n1\n")
	write(t, dir, "none.csv", "")
	write(t, dir, "twice.csv", "a,b,a\n1,2,3\n")
	write(t, dir, "mac.csv", "a,b\r1,2\r")
	write(t, dir, "lines.csv", "a,n\n\n\"two\nlines\",1\nx,y\n")
	write(t, dir, "bad.json", `{"a": 1} 2`)
	write(t, dir, "latin.txt", "caf\xe9")
	write(t, dir, "big.txt", strings.Repeat("x", 16<<20+1))
	err := fails(t, dir, `file: {read: a/nothing.txt}`, "read a/nothing.txt in "+dir+": no such file or directory")
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v is not fs.ErrNotExist", err)
	}
	fails(t, dir, `file: {read: "."}`, "not a regular file")
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	fails(t, dir, `file: {read: pipe}`, "not a regular file")
	fails(t, dir, `file: {read: c.csv, columns: {n: int}}`, `read c.csv: line 3: column n: "x" is no int`)
	fails(t, dir, `file: {read: c.csv, columns: {m: int}}`, `there is no column "m"; it has name, n`)
	fails(t, dir, `file: {read: ragged.csv}`, `wrong number of fields`)
	fails(t, dir, `file: {read: none.csv}`, `no line that names the columns`)
	fails(t, dir, `file: {read: twice.csv}`, `two columns have the name "a"`)
	fails(t, dir, `file: {read: mac.csv}`, `holds a CR`)
	fails(t, dir, `file: {read: lines.csv, columns: {n: int}}`, `read lines.csv: line 5: column n: "y" is no int`)
	fails(t, dir, `file: {read: bad.json}`, `invalid character '2'`)
	fails(t, dir, `file: {read: latin.txt}`, `it is not UTF-8 text`)
	fails(t, dir, `file: {read: big.txt}`, `it is larger than 16 MiB`)
}

func TestFile_StaysInItsFolders(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	write(t, outside, "secret.txt", "secret")
	for name, target := range map[string]string{
		"link.txt": filepath.Join(outside, "secret.txt"), "dir": outside, "out/dir": outside, "out/up": "..",
	} {
		if err := errors.Join(os.MkdirAll(filepath.Join(dir, "out"), 0o755), os.Symlink(target, filepath.Join(dir, name))); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"link.txt", "dir/secret.txt"} {
		fails(t, dir, `file: {read: `+path+`}`, "escapes")
	}
	for _, path := range []string{"../" + filepath.Base(outside) + "/secret.txt", filepath.ToSlash(filepath.Join(outside, "secret.txt"))} {
		fails(t, dir, `file: {read: `+path+`}`, "it is outside of the workflow's folder") // when loading
		fails(t, dir, `file: {read: "${{ '`+path+`' + '' }}"}`, "escapes")                // when running
	}
	fails(t, dir, `file: {write: "${{ '../x' + '' }}", text: x}`, "it is outside of the folder")
	for _, path := range []string{"../x.txt", "/tmp/x.txt", "a/../../x.txt", "."} {
		fails(t, dir, `file: {write: `+path+`, text: x}`, "outside of the folder")
	}
	for _, path := range []string{"dir/x.txt", "up/x.txt"} {
		fails(t, dir, `file: {write: `+path+`, text: x}`, "escapes")
	}
	if left, _ := filepath.Glob(filepath.Join(outside, "*")); len(left) != 1 {
		t.Errorf("outside there is now %v", left)
	}
}

func TestFile_FollowsNoLinkForItsFolder(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	if err := os.Symlink(outside, filepath.Join(dir, "out")); err != nil {
		t.Fatal(err)
	}
	fails(t, dir, `file: {write: x.txt, text: x}`, "write x.txt in "+filepath.Join(dir, "out"))
	if left, _ := filepath.Glob(filepath.Join(outside, "*")); len(left) > 0 {
		t.Errorf("outside there is now %v", left)
	}
}

func TestFile_WritesAllOrNothing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out", "a", "b", "report.md")
	for _, text := range []string{"one", "two", ""} {
		node := "file: {write: a/b/report.md, text: \"" + text + "\"}"
		v, err := do(t, dir, node)
		if m, _ := v.(map[string]any); err != nil || m["path"] != "out/a/b/report.md" {
			t.Fatalf("got %v, %v; want the path as seen from the workflow", v, err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Errorf("the file holds %q (%v), want %q", got, err, text)
		}
	}
	write(t, dir, "out/taken/x", "")
	fails(t, dir, `file: {write: taken, text: x}`, "write taken in "+filepath.Join(dir, "out"))
	left, err := filepath.Glob(filepath.Join(dir, "out", ".*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind %v (%v)", left, err)
	}
}

func TestFile_MovesABlob(t *testing.T) {
	dir := t.TempDir()
	content := "\x89PNG\r\n\x1a\n" + strings.Repeat("\xff\x00", 20<<20)
	write(t, dir, "cat.png", content)
	const text = `version: 1
state: {picture: blob, copy: any}
nodes:
  load:
    file: {read: cat.png, format: blob}
    output: {picture: "${{ result.blob }}"}
    next: save
  save:
    file: {write: copy.png, blob: "${{ state.picture }}"}
    output: {copy: "${{ {'bytes': result.bytes, 'size': state.picture.size, 'type': state.picture.type} }}"}
    next: END
`
	if _, err := runs(t, dir, text, new(checkpoint.Memory)); !errors.Is(err, state.ErrNoBlobs) {
		t.Errorf("without blobs: got %v, want ErrNoBlobs", err)
	}
	got, err := runs(t, dir, text, withBlobs(t))
	size := int64(len(content))
	if want := map[string]any{"bytes": size, "size": size, "type": "image/png"}; err != nil || !reflect.DeepEqual(got["copy"], want) {
		t.Errorf("got %v, %v; want %v", got["copy"], err, want)
	}
	if copied, err := os.ReadFile(filepath.Join(dir, "out", "copy.png")); err != nil || string(copied) != content {
		t.Errorf("the copy has %d bytes, %v; want the content", len(copied), err)
	}
}

// withBlobs returns a store in memory that has blobs.
func withBlobs(t *testing.T) checkpoint.Store {
	t.Helper()
	store, err := checkpoint.WithBlobs(new(checkpoint.Memory), blob.Over(new(blob.Map)), checkpoint.BlobOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// runs runs a workflow, and returns its fields.
func runs(t *testing.T, dir, text string, store checkpoint.Store) (fields map[string]any, err error) {
	t.Helper()
	w, err := workflow.Parse(filepath.Join(dir, "in.yaml"), []byte(text), workflow.Options{Kinds: nodes.Kinds()})
	if err != nil {
		t.Fatal(err)
	}
	g, err := w.Compile(graph.Config{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	res, err := g.Invoke(t.Context(), w.NewState(), graph.RunOptions{Thread: "t"})
	fields = map[string]any{}
	for _, f := range res.State.Schema().Fields() {
		fields[f.Name], _ = res.State.Get(f.Name)
	}
	return fields, err
}

func TestFile_RefusesBlobs(t *testing.T) {
	dir := t.TempDir()
	for node, want := range map[string]string{
		`file: {read: x, blob: {$blob: a, size: 1}}`:                 "text and blob go with write",
		`file: {write: x, text: y, blob: {$blob: a, size: 1}}`:       "text or blob, and not both",
		`file: {write: x, blob: "${{ state.r }}"}`:                   "the blob is null",
		`file: {write: x, blob: "${{ {'$blob': 'a', 'size': 1} }}"}`: "no blobs",
		`file: {write: x, blob: "${{ 'text' }}"}`:                    "want",
		`file: {read: x, format: blob}`:                              "no such file",
		`file: {read: ../x, format: blob}`:                           "outside",
	} {
		fails(t, dir, node, want)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "out", "*")); len(left) > 0 {
		t.Errorf("left behind %v", left)
	}
}
