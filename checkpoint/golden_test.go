package checkpoint_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/state"
)

// current is the golden directory of the current format. When a test reports changed bytes, revert
// the change or begin a new directory with the next name. WEFT_GOLDEN=new go test ./checkpoint -run
// Golden writes it. A released directory never changes, and every later version can read it.
const current = "v4"

// goldenWant is what every golden thread holds.
const goldenWant = `{"title":"gold","lines":["one","two","three","four"],"count":7,"index":{"a":1,"c":3},"tags":["x"]}`

// goldenThread writes a thread with one of everything: a value, a list with chunks, a map
// with a tombstone, entries beside its head.
func goldenThread(t *testing.T, store checkpoint.Store, lines ...string) checkpoint.Snapshot {
	t.Helper()
	w := open[notes](t, store)
	commit := func(write func(s *notes)) {
		task := w.schema.Blank()
		w.schema.Assign(task, w.view)
		write(task.State.(*notes))
		changed := make([]bool, len(task.Channels))
		for i, c := range task.Channels {
			if changed[i] = c.Wrote(); changed[i] {
				if err := w.view.Channels[i].Fold(task.Channels[i : i+1]); err != nil {
					t.Fatal(err)
				}
			}
		}
		rec := &checkpoint.Record{Graph: "g", Program: "p", Run: "r", Origin: "r", Source: checkpoint.Step, Turn: 1,
			Step: int(w.chain.Head()) + 1, Time: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC),
			Next: []checkpoint.Task{{ID: "task", Node: "node", Send: true, Payload: json.RawMessage(`{"n":1}`)}}}
		if err := w.chain.Commit(ctx, fmt.Sprint(rec.Step), rec, w.view, changed); err != nil {
			t.Fatal(err)
		}
	}
	commit(func(s *notes) {
		s.Title.Set("gold")
		s.Lines.Append("one", "two")
		s.Count.Add(7)
		s.Index.Overwrite(map[string]int{"a": 1, "b": 2})
		s.Tags.Add("x", "y")
	})
	commit(func(s *notes) { s.Lines.Append("three"); s.Index.Delete("b"); s.Index.Put("c", 3); s.Tags.Remove("y") })
	commit(func(s *notes) { s.Lines.Append("four"); s.Lines.Append(lines...) })
	entries := []checkpoint.Entry{{Task: "task", Slot: "result", Keep: true, Data: []byte(`{"x":1}`)}, {Slot: "answer/1", Data: []byte(`false`)}}
	if err := w.chain.Put(ctx, entries); err != nil {
		t.Fatal(err)
	}
	snap, err := store.Load(ctx, root, 0)
	if err != nil {
		t.Fatal(err)
	}
	return snap
}

// golden are the threads of a golden directory, by the name of their file.
var golden = map[string]func(t *testing.T) checkpoint.Snapshot{
	"thread": func(t *testing.T) checkpoint.Snapshot { return goldenThread(t, new(checkpoint.Memory)) },
	"compressed": func(t *testing.T) checkpoint.Snapshot {
		return goldenThread(t, new(checkpoint.Memory), goldenLines()...)
	},
	"encrypted": func(t *testing.T) checkpoint.Snapshot {
		inside := new(checkpoint.Memory)
		keys := goldenKeys()
		keys.SetRand(new(counter))
		goldenThread(t, sealedStore(t, inside, checkpoint.Codec{Keys: keys}))
		snap, err := inside.Load(ctx, root, 0)
		if err != nil {
			t.Fatal(err)
		}
		return snap
	},
}

// goldenLines are the lines that the compressed thread has beside the others.
func goldenLines() (lines []string) {
	for n := range 400 {
		lines = append(lines, fmt.Sprintf("line %d of %d", n, n*n))
	}
	return lines
}

func goldenLong(want string) string {
	return strings.Replace(want, `"four"`, `"four","`+strings.Join(goldenLines(), `","`)+`"`, 1)
}

// goldenKeys is the keyring of the golden threads that are encrypted.
func goldenKeys() *checkpoint.Keys {
	return &checkpoint.Keys{Current: "gold", Ring: map[string][]byte{"gold": bytes.Repeat([]byte{7}, 32)}, Plain: true}
}

// counter counts where others are random.
type counter byte

func (c *counter) Read(b []byte) (int, error) {
	for i := range b {
		*c++
		b[i] = byte(*c)
	}
	return len(b), nil
}

func sealedStore(t testing.TB, inside checkpoint.Store, c checkpoint.Codec) checkpoint.Store {
	t.Helper()
	s, err := checkpoint.Sealed(inside, c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func goldenFile(dir, name string) string {
	return filepath.Join("testdata", "golden", dir, name+".json")
}

func TestGoldenBytes_AreStable(t *testing.T) {
	for name, write := range golden {
		got, err := json.MarshalIndent(write(t), "", "\t")
		if err != nil {
			t.Fatal(err)
		}
		file := goldenFile(current, name)
		if os.Getenv("WEFT_GOLDEN") == "new" {
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
				t.Fatalf("%s is there: a golden file never changes", file)
			}
			if err := os.WriteFile(file, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		// The file is only a wrapping; what counts is what it holds.
		want, err := json.MarshalIndent(goldenSnapshot(t, current, name), "", "\t")
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("the bytes of a thread are no longer those of %s: a new format needs a new directory\n got: %s\nwant: %s", file, got, want)
		}
	}
}

// Requirement: data of an older release opens, and its threads continue
// Requirement: another version wrote it
func TestGoldenFiles_Load(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "golden", "*", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("there are %d golden files, %v", len(files), err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var snap checkpoint.Snapshot
		if err := json.Unmarshal(data, &snap); err != nil {
			t.Fatal(err)
		}
		store := sealedStore(t, one{snap: snap}, checkpoint.Codec{Keys: goldenKeys()})
		chain, err := checkpoint.Open(ctx, store, root, schemaOf[notes](t))
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		got, err := chainJSON(t, chain.State)
		want := goldenWant
		if strings.HasSuffix(file, "compressed.json") {
			want = goldenLong(want)
		}
		if got != want || err != nil || chain.Record.Step != 3 || len(chain.Pending) != 2 {
			t.Errorf("%s holds %s, step %d, %d entries, %v, want %s", file, got, chain.Record.Step, len(chain.Pending), err, want)
		}
		if e := chain.Pending[1]; string(e.Data) != `{"x":1}` || e.Slot != "result" {
			t.Errorf("%s: entry %q holds %s", file, e.Slot, e.Data)
		}
	}
}

func chainJSON(t *testing.T, v state.View) (string, error) {
	data, err := schemaOf[notes](t).Encode(v)
	return string(data), err
}

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
