package values

import "testing"

// ordered lists values in their order. The values of one line are equal.
var ordered = [][]string{
	{""}, // missing
	{"null"},
	{"false"},
	{"true"},
	{"-1e3", "-1000", "-1000.0"},
	{"0", "-0", "0.0", "0e9"},
	{"0.1", "1e-1"},
	{"9007199254740992"},
	{"9007199254740993"},
	{`""`},
	{`"A"`, `"\u0041"`},
	{`"a"`},
	{`"é"`},
	{`[]`, `{}`, `[1]`, `{"a":1}`},
}

func TestSort_OrdersAnyTwoValues(t *testing.T) {
	for i, line := range ordered {
		for j, other := range ordered {
			for _, a := range line {
				for _, b := range other {
					x, y := decode(t, a), decode(t, b)
					if got, want := Sort(x, y, a != "", b != ""), compareInts(i, j); got != want {
						t.Errorf("Sort(%s, %s): got %d, want %d", a, b, got, want)
					}
					if equal := Equal(x, y); a != "" && b != "" && i < len(ordered)-1 && equal != (i == j) {
						t.Errorf("Equal(%s, %s): got %v, want %v", a, b, equal, i == j)
					}
				}
			}
		}
	}
}

func TestEqual_ComparesByValue(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{`{"a":1,"b":[1.0,2]}`, `{"b":[1,2e0],"a":1}`, true},
		{`{"a":1}`, `{"a":1,"b":null}`, false},
		{`{"a":1}`, `{"b":1}`, false},
		{`[1,2]`, `[2,1]`, false},
		{`[]`, `{}`, false},
		{`1`, `"1"`, false},
		{`null`, `[]`, false},
	} {
		if got := Equal(decode(t, c.a), decode(t, c.b)); got != c.want {
			t.Errorf("Equal(%s, %s): got %v, want %v", c.a, c.b, got, c.want)
		}
		if got := Equal(decode(t, c.b), decode(t, c.a)); got != c.want {
			t.Errorf("Equal(%s, %s): got %v, want %v", c.b, c.a, got, c.want)
		}
	}
}

func decode(t *testing.T, text string) any {
	t.Helper()
	if text == "" {
		return nil
	}
	v, err := Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func compareInts(a, b int) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
