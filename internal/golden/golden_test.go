package golden

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/checkpoint/memory"
)

func inMemory() Stored {
	return Stored{new(checkpoint.Memory), new(document.Map), new(memory.Map)}
}

// TestGolden_WrittenNow checks that a golden store can still be written, and that its threads
// end as those of the first one do.
func TestGolden_WrittenNow(t *testing.T) {
	s := inMemory()
	if err := Write(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	got, err := record(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if name := toWrite(); name != "" {
		data, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		keep(t, filepath.Join("testdata", name+".json"), append(data, '\n'))
		return
	}
	for _, name := range Versions(t) {
		data, err := recorded.ReadFile("testdata/" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		var want recording
		if err := json.Unmarshal(data, &want); err != nil {
			t.Fatal(err)
		}
		for thread, w := range want.Threads {
			same(t, name+": thread "+thread, got.Threads[thread].After, w.After)
		}
	}
}

// TestSame_FindsWhatIsMissing checks the comparison that all golden tests rely on.
func TestSame_FindsWhatIsMissing(t *testing.T) {
	for _, tt := range []struct {
		got, want string
		same      bool
	}{
		{`{"a":1,"b":2}`, `{"a":1}`, true},
		{`{"a":1}`, `{"a":1,"b":2}`, false},
		{`{"a":[1,{"b":2,"c":3}]}`, `{"a":[1,{"b":2}]}`, true},
		{`{"a":[1,2,3]}`, `{"a":[1,2]}`, false},
		{`{"a":[2,1]}`, `{"a":[1,2]}`, false},
		{`{"a":{}}`, `{"a":{"b":null}}`, true},
		{`{"a":"x"}`, `{"a":{}}`, false},
		{`null`, `{"a":1}`, false},
	} {
		var got, want any
		if json.Unmarshal([]byte(tt.got), &got) != nil || json.Unmarshal([]byte(tt.want), &want) != nil {
			t.Fatal(tt)
		}
		if where := differs("", got, want); (where == "") != tt.same {
			t.Errorf("differs(%s, %s) = %q, want same %v", tt.got, tt.want, where, tt.same)
		}
	}
}

// TestNames_AreFixed checks that no thread was taken out of the golden stores.
func TestNames_AreFixed(t *testing.T) {
	for _, name := range Versions(t) {
		data, err := recorded.ReadFile("testdata/" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		var want recording
		if err := json.Unmarshal(data, &want); err != nil {
			t.Fatal(err)
		}
		if len(want.Threads) < 26 {
			t.Errorf("%s holds %d threads, which cannot be all", name, len(want.Threads))
		}
		for thread := range want.Threads {
			if !slices.Contains(names(), thread) {
				t.Errorf("thread %q of %s can no longer be written", thread, name)
			}
		}
	}
}
