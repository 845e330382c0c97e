package golden

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
)

//go:embed testdata/*.json
var recorded embed.FS

// recording is the content of a golden store, as the code that wrote it read it. It has the plain
// threads; the sealed threads have the same content.
type recording struct {
	Threads map[string]storedThread `json:"threads"`
	Records records                 `json:"records"`
}

// Versions returns the names of all golden stores: the commits whose code wrote them.
func Versions(t testing.TB) (names []string) {
	t.Helper()
	files, err := recorded.ReadDir("testdata")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are %d recordings, %v", len(files), err)
	}
	for _, f := range files {
		names = append(names, strings.TrimSuffix(f.Name(), ".json"))
	}
	return names
}

// toWrite returns the name of the golden store that is to be written now, "" for none.
func toWrite() string { return os.Getenv("WEFT_GOLDEN") }

// Test checks the golden files of a kind, which earlier releases have written. open opens such a
// file as a store. If the environment requests a new golden file, Test only writes that file: write
// fills a new store by [Write] and returns the file.
func Test(t *testing.T, kind string, open func(t *testing.T, file []byte) Stored, write func(t *testing.T) []byte) {
	at := func(name string) string { return filepath.Join("testdata", "golden", name+"."+kind) }
	if name := toWrite(); name != "" {
		keep(t, at(name), write(t))
		return
	}
	for _, name := range Versions(t) {
		t.Run(name, func(t *testing.T) {
			file, err := os.ReadFile(at(name))
			if err != nil {
				t.Fatal(err)
			}
			open(t, file).Check(t, name)
		})
	}
}

// keep writes a new golden file. It never changes an existing file.
func keep(t testing.TB, file string, data []byte) {
	t.Helper()
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("%s exists, and a golden file never changes (%v)", file, err)
	}
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, data, 0o644)); err != nil {
		t.Fatal(err)
	}
}

// record reads a new store, and finishes a copy of each thread to record its end.
func record(ctx context.Context, s Stored) (r recording, err error) {
	r.Threads = map[string]storedThread{}
	for _, name := range names() {
		th, err := read(ctx, s.Threads, "plain/"+name)
		if err != nil {
			return r, fmt.Errorf("thread %q: %w", name, err)
		}
		ends := new(checkpoint.Memory)
		if err := checkpoint.Copy(ctx, s.Threads, "plain/"+name, ends, name); err != nil {
			return r, err
		}
		a, err := finish(ctx, ends, name)
		if err != nil {
			return r, fmt.Errorf("thread %q: %w", name, err)
		}
		th.After = &a
		r.Threads[name] = th
	}
	r.Records, err = readRecords(ctx, s)
	return r, err
}

// Check checks a golden store with a name. The store must be a copy: the runs in it go on.
func (s Stored) Check(t *testing.T, name string) {
	data, err := recorded.ReadFile(path.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var want recording
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	s.checkListing(t, want)
	for _, kind := range kinds {
		store, err := sealedOf(s.Threads, kind)
		if err != nil {
			t.Fatal(err)
		}
		for thread, w := range want.Threads {
			t.Run(kind+"/"+thread, func(t *testing.T) { check(t, store, kind+"/"+thread, w) })
		}
	}
	t.Run("records", func(t *testing.T) {
		got, err := readRecords(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "the records", got, want.Records)
		if err := useRecords(t.Context(), s); err != nil {
			t.Error(err)
		}
	})
}

// checkListing lists the threads with a keyring that also reads plain values, and checks that none
// is missing. If the store is an Examiner, Doctor must return findings.
func (s Stored) checkListing(t *testing.T, want recording) {
	t.Helper()
	keys := Keys()
	keys.Plain = true
	all, err := checkpoint.Sealed(s.Threads, checkpoint.Codec{Keys: keys})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for p, err := range graph.Threads(t.Context(), all, checkpoint.ThreadQuery{Where: map[string]string{"tenant": "golden"}}) {
		if err != nil {
			t.Fatal(err)
		}
		found[p.Thread] = true
	}
	for name := range want.Threads {
		for _, kind := range kinds {
			if !found[kind+"/"+name] {
				t.Errorf("the listing lacks thread %q", kind+"/"+name)
			}
		}
	}
	if e, ok := s.Threads.(checkpoint.Examiner); ok {
		if findings, err := e.Doctor(t.Context()); err != nil || len(findings) == 0 {
			t.Errorf("Doctor returned %v, %v, want findings", findings, err)
		}
	}
}

// check checks one thread and its copies, and the end of each after it was finished.
func check(t *testing.T, store checkpoint.Store, thread string, want storedThread) {
	ctx := t.Context()
	unchanged := func(what string, store checkpoint.Store, thread string) {
		t.Helper()
		got, err := read(ctx, store, thread)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		same(t, what, got, storedThread{want.Inspect, want.Chains, want.Diff, nil})
	}
	ends := func(what string, store checkpoint.Store, thread string) {
		t.Helper()
		got, err := finish(ctx, store, thread)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		same(t, what+", at its end", got, want.After)
	}
	unchanged("the thread", store, thread)

	if strings.HasPrefix(thread, "plain/") {
		var file bytes.Buffer
		if err := checkpoint.Export(ctx, store, thread, &file); err != nil {
			t.Fatal(err)
		}
		if err := checkpoint.Import(ctx, store, thread+" imported", bytes.NewReader(file.Bytes())); err != nil {
			t.Fatal(err)
		}
		unchanged("the imported thread", store, thread+" imported")
		ends("the imported thread", store, thread+" imported")
	} else {
		elsewhere, err := checkpoint.Sealed(new(checkpoint.Memory), checkpoint.Codec{Keys: Keys()})
		if err != nil {
			t.Fatal(err)
		}
		if err := checkpoint.Copy(ctx, store, thread, elsewhere, thread); err != nil {
			t.Fatal(err)
		}
		unchanged("the copy in another store", elsewhere, thread)
		ends("the copy in another store", elsewhere, thread)
	}
	pruned := thread + " pruned"
	if err := checkpoint.Copy(ctx, store, thread, store, pruned); err != nil {
		t.Fatal(err)
	}
	if err := checkpoint.Reseal(ctx, store, pruned, ""); err != nil {
		t.Fatal(err)
	}
	if err := checkpoint.Prune(ctx, store, pruned, checkpoint.Keep{}); err != nil {
		t.Fatal(err)
	}
	ends("the thread that was sealed anew and pruned", store, pruned)

	if strings.HasSuffix(thread, "/held") {
		busy := (*checkpoint.BusyError)(nil)
		g, err := compile(config(store, "busy"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := g.root.Resume(ctx, graph.Answers{}, graph.RunOptions{Thread: thread}); !errors.As(err, &busy) || busy.Owner != "ann" {
			t.Errorf("Resume of a thread that ann holds returned %v, want a *BusyError that names her", err)
		}
	}
	ends("the thread", store, thread)
	if err := store.Delete(ctx, thread); err != nil {
		t.Error(err)
	}
	if _, err := graph.Inspect(ctx, store, checkpoint.Key{Thread: thread}); !errors.Is(err, graph.ErrUnknownThread) {
		t.Errorf("Inspect of a deleted thread returned %v, want %v", err, graph.ErrUnknownThread)
	}
}

// same fails the test unless got, as JSON, has everything that want has. It ignores members of
// objects that only got has: later code may return more members.
func same(t *testing.T, what string, got, want any) {
	t.Helper()
	var g, w any
	for _, v := range []struct{ from, to any }{{got, &g}, {want, &w}} {
		data, err := json.Marshal(v.from)
		if err == nil {
			err = json.Unmarshal(data, v.to)
		}
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	if where := differs("", g, w); where != "" {
		t.Errorf("%s differs at %s", what, where)
	}
}

// differs returns the first place at which got lacks something of want, "" for none.
func differs(at string, got, want any) string {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		for key, value := range w {
			if !ok {
				break
			}
			if where := differs(at+"/"+key, g[key], value); where != "" {
				return where
			}
		}
		if ok {
			return ""
		}
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			break
		}
		for i := range w {
			if where := differs(fmt.Sprintf("%s/%d", at, i), g[i], w[i]); where != "" {
				return where
			}
		}
		return ""
	}
	if reflect.DeepEqual(got, want) {
		return ""
	}
	g, _ := json.Marshal(got)
	w, _ := json.Marshal(want)
	return fmt.Sprintf("%s\n got: %.1000s\nwant: %.1000s", at, g, w)
}
