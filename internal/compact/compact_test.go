package compact_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/weftrun/weft/internal/compact"
)

// self writes itself.
type self struct {
	s   string
	err error
}

func (v self) AppendJSON(b []byte) ([]byte, error) {
	if v.err != nil {
		return nil, v.err
	}
	return compact.String(b, v.s), nil
}

func (v self) MarshalJSON() ([]byte, error) { return v.AppendJSON(nil) }

func TestMarshalIsThatOfEncodingJSON(t *testing.T) {
	type named string
	one, two := self{s: "a"}, self{s: "<é\u2028\x00\"\\&\xff>"}
	for _, v := range []any{
		nil, 1, "x", []int{1}, one, &one, two, []self{}, []self(nil), []self{one, two}, [2]self{one, two}, []*self{nil, &two}, []any{one, nil},
		map[string]self{}, map[string]self(nil), map[string]self{"b": one, "a<": two, "é": one, "": one}, map[named]self{"a": one}, map[int]self{2: one, 10: two},
		[][]self{{one}}, json.RawMessage(` { "a" : 1 } `), struct{ A []self }{[]self{two}},
	} {
		want, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := compact.Marshal(v); string(got) != string(want) || err != nil {
			t.Errorf("%#v: got %s, %v; want %s", v, got, err, want)
		}
	}
}

func TestMarshalFailsAsItsValuesDo(t *testing.T) {
	bad := self{err: errors.New("no form")}
	for _, v := range []any{bad, []self{{}, bad}, map[string]self{"a": {}, "b": bad}, []any{bad}} {
		if got, err := compact.Marshal(v); !errors.Is(err, bad.err) || got != nil {
			t.Errorf("%v: got %s, %v; want %v", v, got, err, bad.err)
		}
	}
}

func FuzzString(f *testing.F) {
	f.Add("plain")
	f.Add("<\u2029\xc3\x28\x7f\t")
	f.Fuzz(func(t *testing.T, s string) {
		want, err := json.Marshal(s)
		if got := compact.String([]byte("b"), s); err != nil || string(got) != "b"+string(want) {
			t.Errorf("got %s, want %s, %v", got, want, err)
		}
	})
}
