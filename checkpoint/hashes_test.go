package checkpoint_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint"
)

// hashed returns a store with a thread "t" whose commits carry hashes: five steps, and a branch.
func hashed(t *testing.T, codec checkpoint.Codec) checkpoint.Store {
	t.Helper()
	store, err := checkpoint.Sealed(new(checkpoint.Memory), codec)
	if err != nil {
		t.Fatal(err)
	}
	w := open[notes](t, checkpoint.WithHashes(store))
	for i := range 5 {
		w.chain.Decide(fmt.Appendf(nil, `{"question":"q%d","answer":"yes"}`, i))
		step(w, func(s *notes) {
			s.Title.Set(fmt.Sprint("title ", i))
			s.Lines.Append(fmt.Sprint("line ", i))
			s.Count.Add(1)
			s.Index.Put("k", i)
		})
	}
	return store
}

func verify(t *testing.T, store checkpoint.Store, thread string) *checkpoint.Verified {
	t.Helper()
	v, err := checkpoint.Verify(t.Context(), store, thread)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// exported returns the objects of the lines of an exported thread.
func exported(t *testing.T, store checkpoint.Store) []string {
	t.Helper()
	var file bytes.Buffer
	if err := checkpoint.Export(t.Context(), store, "t", &file); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(file.String()), "\n")
	for i := range lines {
		_, lines[i], _ = strings.Cut(lines[i], " ")
	}
	return lines
}

// forged stores a thread from the lines of an exported one, as an attacker with the right tools
// does: each value has its checksum.
func forged(t *testing.T, lines []string) (checkpoint.Store, error) {
	t.Helper()
	var file bytes.Buffer
	sum := sha256.New()
	for _, line := range lines {
		sum.Write([]byte(line + "\n"))
		fmt.Fprintf(&file, "%s %s\n", hex.EncodeToString(sum.Sum(nil))[:32], line)
	}
	store := new(checkpoint.Memory)
	return store, checkpoint.Import(t.Context(), store, "t", &file)
}

// leaves calls change for each number and text in v, with a function that changes it.
func leaves(v any, path string, visit func(path string, change func())) {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			at := path + "." + name
			switch m := member.(type) {
			case string:
				visit(at, func() { v[name] = m + "!" })
			case json.Number:
				visit(at, func() { v[name] = json.Number("7" + m.String()) })
			case bool:
				visit(at, func() { v[name] = !m })
			default:
				leaves(member, at, visit)
			}
		}
	case []any:
		for i, e := range v {
			at := fmt.Sprint(path, "[", i, "]")
			if s, ok := e.(string); ok {
				visit(at, func() { v[i] = s + "!" })
			} else {
				leaves(e, at, visit)
			}
		}
	}
}

func decode(t *testing.T, line string) (v map[string]any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(line))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// Each text and number of the records and values is changed in turn, with all checksums made anew.
func TestVerify_FindsEachChange(t *testing.T) {
	lines := exported(t, hashed(t, checkpoint.Codec{}))
	store, err := forged(t, lines)
	if err != nil {
		t.Fatal(err)
	}
	clean := verify(t, store, "t")
	if len(clean.Changed) > 0 || clean.Decisions != 5 || clean.Chains[0].Hashed != 5 {
		t.Fatalf("the unchanged thread gives %+v", *clean)
	}
	tried := 0
	for n := range lines {
		var paths []string
		leaves(decode(t, lines[n]), "", func(path string, _ func()) { paths = append(paths, path) })
		for _, path := range paths {
			if !strings.HasPrefix(path, ".record") && !strings.HasPrefix(path, ".blobs") {
				continue
			}
			tried++
			object := decode(t, lines[n])
			leaves(object, "", func(at string, change func()) {
				if at == path {
					change()
				}
			})
			data, err := json.Marshal(object)
			if err != nil {
				t.Fatal(err)
			}
			store, err := forged(t, slices.Replace(slices.Clone(lines), n, n+1, string(data)))
			if err != nil {
				continue // it is not a thread any more
			}
			v := verify(t, store, "t")
			newest := n == len(lines)-2 && strings.HasPrefix(path, ".record")
			if len(v.Changed) == 0 && (!newest || v.Chains[0].Hash == clean.Chains[0].Hash) {
				t.Errorf("line %d, %s was changed, and nothing is found", n, path)
			}
			for _, c := range v.Changed {
				if c.Checkpoint > uint64(n)+1 {
					t.Errorf("line %d, %s was changed, and the first change found is %v", n, path, c)
				}
			}
		}
	}
	if tried < 150 {
		t.Errorf("only %d changes were tried", tried)
	}
}

func TestVerify_FindsWhatWasLeftOutOrMoved(t *testing.T) {
	lines := exported(t, hashed(t, checkpoint.Codec{}))
	swap := func(a, b, text string) func(string) string {
		return func(line string) string {
			if !strings.Contains(line, a) {
				t.Fatalf("%s: no %q in %s", text, a, line)
			}
			return strings.ReplaceAll(line, a, b)
		}
	}
	prev := decode(t, lines[3])["record"].(map[string]any)["prev"].(string)
	for _, c := range []struct {
		name string
		line int
		edit func(string) string
		want string
	}{
		{"a link is cut", 3, swap(`,"prev":"`+prev+`"`, "", "cut"), "carries no hash"},
		{"a link is replaced", 3, swap(prev, strings.Repeat("0", 64), "replaced"), "is not the record that commit 3 follows"},
		{"a decision is moved", 2, swap(`"q1"`, `"q4"`, "moved"), "the value is not the one"},
	} {
		t.Run(c.name, func(t *testing.T) {
			changed := slices.Clone(lines)
			changed[c.line] = c.edit(changed[c.line])
			store, err := forged(t, changed)
			if err != nil {
				t.Fatal(err)
			}
			v := verify(t, store, "t")
			if len(v.Changed) != 1 || !strings.Contains(v.Changed[0].String(), c.want) {
				t.Errorf("got %v, want one with %q", v.Changed, c.want)
			}
		})
	}
	// The newest commit is left out: only a hash that was read before shows it.
	store, err := forged(t, append(slices.Clone(lines[:len(lines)-2]), strings.Replace(lines[len(lines)-1], "5", "4", 1)))
	if err != nil {
		t.Fatal(err)
	}
	head := verify(t, hashed(t, checkpoint.Codec{}), "t").Chains[0].Hash
	if v := verify(t, store, "t"); len(v.Changed) > 0 || v.Has(head) {
		t.Errorf("without its newest commit the thread gives %+v, has its hash: %t", *v, v.Has(head))
	}
}

// The hash does not depend on how values are stored.
func TestWithHashes_SameHashHoweverStored(t *testing.T) {
	keys := &checkpoint.Keys{Current: "k", Ring: map[string][]byte{"k": checkpoint.NewKey()}}
	want := verify(t, hashed(t, checkpoint.Codec{}), "t").Chains[0].Hash
	for name, codec := range map[string]checkpoint.Codec{"encrypted": {Keys: keys}, "not compressed": {NoCompression: true}} {
		v := verify(t, hashed(t, codec), "t")
		if v.Chains[0].Hash != want || len(v.Changed) > 0 {
			t.Errorf("%s: got hash %s and %v, want %s", name, v.Chains[0].Hash, v.Changed, want)
		}
	}
	// A copy to an encrypted store, and back.
	sealed, err := checkpoint.Sealed(new(checkpoint.Memory), checkpoint.Codec{Keys: keys})
	if err != nil {
		t.Fatal(err)
	}
	back := new(checkpoint.Memory)
	for _, c := range []struct{ from, to checkpoint.Store }{{hashed(t, checkpoint.Codec{}), sealed}, {sealed, back}} {
		if err := checkpoint.Copy(t.Context(), c.from, "t", c.to, "t"); err != nil {
			t.Fatal(err)
		}
		if v := verify(t, c.to, "t"); v.Chains[0].Hash != want || len(v.Changed) > 0 {
			t.Errorf("a copy has hash %s and %v, want %s", v.Chains[0].Hash, v.Changed, want)
		}
	}
}

// A thread that exists takes up hashes with its next commit.
func TestWithHashes_BeginInTheMiddle(t *testing.T) {
	store := new(checkpoint.Memory)
	w := open[notes](t, store)
	for i := range 3 {
		w.chain.Decide(fmt.Appendf(nil, `{"n":%d}`, i))
		step(w, func(s *notes) { s.Lines.Append("plain") })
	}
	if v := verify(t, store, "t"); v.Chains[0].Hashed != 0 || v.Decisions != 0 || len(v.Changed) > 0 {
		t.Errorf("without hashes: got %+v", *v)
	}
	w = open[notes](t, checkpoint.WithHashes(store))
	for i := range 3 {
		w.chain.Decide(fmt.Appendf(nil, `{"n":%d}`, 3+i))
		step(w, func(s *notes) { s.Lines.Append("hashed") })
	}
	w = open[notes](t, store) // without WithHashes
	step(w, func(s *notes) { s.Lines.Append("hashed all the same") })
	check := func(store checkpoint.Store) {
		t.Helper()
		v := verify(t, store, "t")
		if c := v.Chains[0]; c.Commits != 7 || c.Hashed != 4 || c.Since != 4 || v.Decisions != 3 || len(v.Changed) > 0 {
			t.Errorf("got %+v, want 7 commits, 4 with hashes, 3 decisions", *v)
		}
	}
	check(store)
	sealed, err := checkpoint.Sealed(new(checkpoint.Memory), checkpoint.Codec{Keys: &checkpoint.Keys{Current: "k", Ring: map[string][]byte{"k": checkpoint.NewKey()}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := checkpoint.Copy(t.Context(), store, "t", sealed, "t"); err != nil {
		t.Fatal(err)
	}
	check(sealed)
}

// A store without hashes stores the same bytes as before.
func TestWithHashes_CostsNothingWithout(t *testing.T) {
	store := new(checkpoint.Memory)
	w := open[notes](t, store)
	step(w, func(s *notes) { s.Lines.Append("x") })
	lines := exported(t, store)
	if strings.Contains(lines[1], `"prev"`) || strings.Contains(lines[1], `"t":`) {
		t.Errorf("the record of a plain store has a hash or a tag: %s", lines[1])
	}
}

// What the store has lost is not a change: the commit after it is recorded as one that goes on.
func TestVerify_ReportsWhatTheStoreLost(t *testing.T) {
	store := new(checkpoint.Memory)
	w := open[notes](t, checkpoint.WithHashes(store))
	step(w, func(s *notes) { s.Title.Set("stored") })
	all := make([]bool, len(w.view.Channels))
	for i := range all {
		all[i] = true
	}
	lost, err := w.chain.Prepare("lost", &checkpoint.Record{Graph: "g", Source: checkpoint.Step}, w.view, all)
	if err != nil {
		t.Fatal(err)
	}
	w.chain.Advance(lost)
	w.chain.GoBack(1)
	rec := &checkpoint.Record{Graph: "g", Source: checkpoint.Step, Recovered: true}
	if err := w.chain.Commit(ctx, "recovered", rec, w.view, all); err != nil {
		t.Fatal(err)
	}
	step(w, func(s *notes) { s.Title.Set("goes on") })
	v := verify(t, store, "t")
	if c := v.Chains[0]; len(v.Changed) > 0 || !slices.Equal(c.Lost, []uint64{2}) || c.Hashed != 3 {
		t.Errorf("got %+v, want that the store lost what was before commit 2", *v)
	}
}
