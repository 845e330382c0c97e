package state_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/weftrun/weft/state"
)

type versioned struct {
	Plain state.Value[int]   `json:"plain"`
	Later state.Value[int]   `json:"later" weft:"version=3"`
	All   state.List[string] `json:"all" weft:"turn,version=2,was=former,default=[\"a\",\"b\"]"`
	Group struct {
		Inner state.Sum[int] `json:"inner" weft:"was=old"`
	} `json:"group" weft:"turn"`
}

func TestTags_HaveVersionsAndFormerNames(t *testing.T) {
	s, err := state.SchemaOf[versioned]()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]state.Field{
		"plain":       {Version: 1, Kind: state.KindValue},
		"later":       {Version: 3, Kind: state.KindValue},
		"all":         {Version: 2, Kind: state.KindList, Turn: true, Was: "former", Default: json.RawMessage(`["a","b"]`)},
		"group_inner": {Version: 1, Kind: state.KindSum, Turn: true, Was: "group_old"},
	} {
		i, ok := s.Index(name)
		if !ok {
			t.Fatalf("there is no field %q", name)
		}
		got := s.Fields()[i]
		if got.Version != want.Version || got.Kind != want.Kind || got.Turn != want.Turn || got.Was != want.Was || string(got.Default) != string(want.Default) {
			t.Errorf("%s: got %+v, want %+v", name, got, want)
		}
		if j, ok := s.Renamed(want.Was); want.Was != "" && (!ok || j != i) {
			t.Errorf("%s was %q: Renamed gives %d, %v", name, want.Was, j, ok)
		}
	}
	if _, ok := s.Renamed(""); ok {
		t.Error("a field was once called nothing")
	}
}

func TestTags_BadVersionsAndNamesAreReported(t *testing.T) {
	_, err := state.SchemaOf[struct {
		A state.Value[int] `weft:"version=0"`
		B state.Value[int] `weft:"version=two"`
		C state.Value[int] `weft:"version=02"`
		D state.Value[int] `weft:"version=2,version=3"`
		E state.Value[int] `weft:"was="`
		F state.Value[int] `weft:"was=a b"`
		G state.Value[int] `weft:"turn,turn"`
		H state.Value[int] `weft:"turn,"`
		I state.Value[int] `weft:"default=1,turn"`
		J struct {
			X state.Value[int]
		} `weft:"version=2"`
	}]()
	var se *state.SchemaError
	if !errors.As(err, &se) || len(se.Mistakes) != 10 {
		t.Errorf("got %v, want ten mistakes", err)
	}
	_, err = state.SchemaOf[struct {
		A state.Value[int]
		B state.Value[int] `weft:"was=A"`
		C state.Value[int] `weft:"was=X"`
		D state.Value[int] `weft:"was=X"`
		E state.Value[int] `weft:"was=E"`
	}]()
	if !errors.As(err, &se) || len(se.Mistakes) != 3 || !strings.Contains(err.Error(), "another field") || !strings.Contains(err.Error(), "was=E is its present name") {
		t.Errorf("got %v, want three mistakes", err)
	}
}

func TestMigrations_MustFitTheSchema(t *testing.T) {
	keep := func(_ int, old json.RawMessage) (json.RawMessage, error) { return old, nil }
	s, err := state.SchemaOf[versioned]()
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Migrating(map[string]state.Migration{"plain": keep, "nothing": keep, "later": nil})
	var se *state.SchemaError
	if !errors.As(err, &se) {
		t.Fatalf("got %v, want a *SchemaError", err)
	}
	for _, want := range []string{`unknown field "nothing"`, "plain: it has a migration and is at version 1", "all: it is at version 2 and has no migration", "later: it is at version 3 and has no migration"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
	if _, err := s.Migrating(map[string]state.Migration{"later": keep, "all": keep}); err != nil {
		t.Errorf("all that is needed and nothing else gives %v", err)
	}
	if _, err := s.Migrate(1, 1, nil); !errors.Is(err, state.ErrNoMigration) {
		t.Errorf("the schema itself was changed: %v", err)
	}
}

func TestPieces_AreJoinedWithoutTheirTypes(t *testing.T) {
	for name, tt := range map[string]struct {
		kind   state.Kind
		pieces []string
		want   string
	}{
		"one":             {state.KindValue, []string{`{"a":1}`}, `{"a":1}`},
		"a list":          {state.KindList, []string{`[1]`, `[9007199254740993,3.0]`, `[]`}, `[1,9007199254740993,3.0]`},
		"a map":           {state.KindMap, []string{`{"a":1,"b":2}`, `{"put":{"c":3.0},"del":["a"]}`, `{"put":{"a":4}}`}, `{"a":4,"b":2,"c":3.0}`},
		"a map by number": {state.KindMap, []string{`{"1":1,"2":2}`, `{"del":[1]}`}, `{"2":2}`},
		"a set":           {state.KindSet, []string{`["x","y"]`, `{"put":["z"],"del":["x"]}`, `{"put":["y"]}`}, `["z","y"]`},
		"by its form":     {"", []string{`["x"]`, `{"put":["z"]}`}, `["x","z"]`},
	} {
		var pieces []json.RawMessage
		for _, p := range tt.pieces {
			pieces = append(pieces, json.RawMessage(p))
		}
		if got, err := state.FoldStored(tt.kind, pieces); err != nil || string(got) != tt.want {
			t.Errorf("%s: got %s, %v, want %s", name, got, err, tt.want)
		}
	}
	for _, bad := range [][]json.RawMessage{
		{json.RawMessage(`1`), json.RawMessage(`2`)}, {json.RawMessage(`[1]`), json.RawMessage(`[`)},
		{json.RawMessage(`{}`), json.RawMessage(`{"put":1}`)}, {json.RawMessage(`[]`), json.RawMessage(`{"put":1}`)}, {nil, nil},
	} {
		if got, err := state.FoldStored("", bad); err == nil {
			t.Errorf("%s gives %s", bad, got)
		}
	}
}
