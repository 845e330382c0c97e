package workflow

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weftrun/weft/capabilities/recording"
	"github.com/weftrun/weft/graph"
)

// TestRecording is what a test did with its recording.
type TestRecording struct {
	File string `json:"file"`
	recording.Stats
	// Written is true if the test records and the file has its calls.
	Written bool `json:"written,omitempty"`
}

// recordings is the folder of recordings, seen from that of the file.
const recordings = "testdata/recordings"

// Recording returns the path of the recording of a test, which need not exist: in the folder
// testdata/recordings/FILE beside the file, where FILE is the name of the file without .yaml.
func (w *Workflow) Recording(test string) string {
	slug := slugOf(test)
	alike := func(name string) bool { return name != test && slugOf(name) == slug }
	if slug == "" || slices.ContainsFunc(w.Tests(), alike) {
		sum := sha256.Sum256([]byte(test))
		slug = strings.TrimPrefix(slug+"-"+hex.EncodeToString(sum[:4]), "-")
	}
	return filepath.Join(w.recordingFolder(), slug+".yaml")
}

func (w *Workflow) recordingFolder() string {
	path := filepath.FromSlash(w.src.path)
	base := filepath.Base(path)
	return filepath.Join(filepath.Dir(path), filepath.FromSlash(recordings), strings.TrimSuffix(base, ".yaml"))
}

// longestSlug limits the name of a recording, in bytes.
const longestSlug = 80

// slugOf returns a name of a test as a name of a file: its letters from a to z and digits, in lower
// case, with a dash for all else.
func slugOf(name string) string {
	parts := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	slug := strings.Join(parts, "-")
	return strings.TrimSuffix(slug[:min(len(slug), longestSlug)], "-")
}

// openRecording returns the recorder of a test; nil if it has no recording.
func (w *Workflow) openRecording(t *test, o TestOptions, secrets map[string]string) (*tape, error) {
	path := w.Recording(t.name)
	if _, err := os.Stat(path); !o.Record && errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if o.Record {
		if err := commonSecret(secrets); err != nil {
			return nil, err
		}
	}
	r, err := recording.Open(path, recording.Options{
		Record: o.Record, Fresh: o.Fresh, Failed: t.expect.status == graph.Failed, Test: t.name, Secrets: secrets,
	})
	if err != nil {
		return nil, err
	}
	return &tape{r, path}, nil
}

// testSecrets returns the values that neither a recording nor a report of a test must have, by
// their names.
func (w *Workflow) testSecrets(t *test) map[string]string {
	secrets := map[string]string{}
	// Nodes get the values of the test, entries those of the workflow. The former come first: their
	// names must not depend on what else is set.
	w.secretValues(secrets, func(v *vault) *vault { return v.with(t.lookup()) })
	w.secretValues(secrets, func(v *vault) *vault { return v })
	w.handedOver(func(name string) {
		_, own := t.env[name] // the file has it
		value, _ := w.vault.lookup(name)
		if !own && value != "" && !isCommon(value) && !slices.Contains(slices.Collect(maps.Values(secrets)), value) {
			addSecret(secrets, name, value)
		}
	})
	return secrets
}

// Redactor returns a function that replaces the values of the file's secrets in a text, as in the
// results of a test. It is for reports: redact a text before it is shortened.
func (w *Workflow) Redactor() func(text string) string {
	return recording.Redact(w.testSecrets(new(test)))
}

// publicVariables are those of a machine and a user that are no secrets. Their values are words of
// paths and texts, which a recording must keep.
var publicVariables = []string{"HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "PWD", "SHELL", "TERM", "TMPDIR", "TZ", "USER"}

// commonWords are values of settings. A recording would be unreadable, and a replay would return
// something else, if such a word were replaced everywhere.
var commonWords = []string{
	"debug", "default", "develop", "development", "disabled", "enabled", "error", "false", "info", "local", "localhost", "none", "null",
	"prod", "production", "release", "stage", "staging", "test", "testing", "trace", "true", "verbose", "warn", "warning",
}

func isCommon(value string) bool { return slices.Contains(commonWords, strings.ToLower(value)) }

// commonSecret returns an error for a secret of the file whose value is a common word.
func commonSecret(secrets map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(secrets)) {
		if isCommon(secrets[name]) {
			return fmt.Errorf("the value of the secret %s is a common word, which a recording cannot leave out; set another value to record", name)
		}
	}
	return nil
}

// handedOver yields the variables of the environment that nodes and entries hand to what they call.
func (w *Workflow) handedOver(yield func(name string)) {
	read := func(v any) {
		if r, ok := v.(EnvReader); ok {
			for _, name := range r.EnvNames() {
				if !slices.Contains(publicVariables, name) {
					yield(name)
				}
			}
		}
	}
	for _, n := range w.plan.nodes {
		if kw := registered(n.work); kw != nil {
			r := kw.kind.New()
			kw.args.constants(paramsIn(r))
			read(r)
		}
	}
	for _, section := range slices.Sorted(maps.Keys(w.ents.all)) {
		for _, name := range slices.Sorted(maps.Keys(w.ents.all[section])) {
			read(w.ents.all[section][name].Entry)
		}
	}
	for _, sub := range w.subs {
		sub.handedOver(yield)
	}
}

// addSecret adds a value under its name, with a number if the name has another value already.
func addSecret(all map[string]string, name, value string) {
	numbered := name
	for n := 2; all[numbered] != "" && all[numbered] != value; n++ {
		numbered = fmt.Sprintf("%s %d", name, n)
	}
	all[numbered] = value
}

// secretValues adds the values of the secrets of the file, and of those that it names, in an
// environment.
func (w *Workflow) secretValues(all map[string]string, in func(*vault) *vault) {
	own := in(w.vault)
	for i, v := range slices.Concat(own.secrets, own.hidden) {
		value, err := own.value(v.name)
		declared := i < len(own.secrets)
		if err == nil && (declared || !isCommon(value)) {
			addSecret(all, v.name, value)
		}
	}
	for _, sub := range w.subs {
		sub.secretValues(all, in)
	}
}

// tape is the recording of a test under way. A nil tape is none.
type tape struct {
	*recording.Recorder
	path string
}

func (t *tape) context(ctx context.Context) context.Context {
	if t == nil {
		return ctx
	}
	return t.Context(ctx)
}

// mayRecord reports what the nodes that record lack of permissions and variables, before a call is
// made: a test that fails after its first calls has made them for nothing. A node with a mock needs
// nothing, and neither does one whose calls are recorded. path precedes the names of the nodes.
func (w *Workflow) mayRecord(ctx context.Context, t *tape, path string, mocks map[string]*mock, found *problems) {
	src := *w.src
	src.problems = found
	for _, n := range w.plan.nodes {
		if mocks[n.name] != nil {
			continue
		}
		if sub, ok := n.work.(*subWork); ok && sub.child != nil {
			sub.child.mayRecord(ctx, t, path+n.name+"/", nil, found)
			continue
		}
		if t.Recorded(path + n.name) {
			continue
		}
		if err := n.checkEnv(w.vault.in(ctx)); err != nil {
			src.fail(n.kind.at, "WF705", "%s: %v; nothing was called", n.kind.name, err)
		}
	}
}

// closeRecording ends the recording, and then judges the test, but not if a call differs: then the
// rest follows from that. Of a run that failed, a call that was not made is no reason but follows.
// A recording is not replaced by that of a run that came to another end than the test expects.
func (r *testRun) closeRecording(t *tape, o TestOptions) {
	if t == nil {
		r.judge(false)
		return
	}
	if o.Record && r.res.Status != r.t.expect.status {
		t.Discard()
		r.judge(true)
		return
	}
	var failed error
	if r.res.Status == graph.Failed {
		failed = r.res.Err
	}
	err := t.Close(failed)
	s := t.Stats()
	if s.Made+s.Replayed > 0 {
		r.res.Recording = &TestRecording{File: filepath.ToSlash(t.path), Stats: s, Written: o.Record && err == nil}
	}
	if err != nil {
		r.out.fail(r.t.at, "WF905", "%v", err)
	}
	if d := (*recording.Difference)(nil); !errors.As(err, &d) || d.Left && failed != nil {
		r.judge(false)
	}
}

// removeRecordings removes the recordings of tests that the file does not have.
func (w *Workflow) removeRecordings() error {
	folder := w.recordingFolder()
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, name := range w.Tests() {
		known[filepath.Base(w.Recording(name))] = true
	}
	left := len(entries)
	for _, e := range entries {
		path := filepath.Join(folder, e.Name())
		// A file that begins with a dot is being written by another process.
		if known[e.Name()] || strings.HasPrefix(e.Name(), ".") || !e.Type().IsRegular() || !recording.Is(path) {
			continue
		}
		if err := os.Remove(path); err != nil {
			return err
		}
		left--
	}
	if left == 0 {
		return os.Remove(folder)
	}
	return nil
}
