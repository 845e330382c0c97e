package studio

import "testing"

func TestSizes_FieldsThatGrow(t *testing.T) {
	var steps []map[string]int
	for i := range 10 {
		steps = append(steps, map[string]int{"log": 2000 + 100*i, "note": 5000, "swings": 2000 + 100*(i%2), "small": 10 * i})
	}
	var s sizes
	s.add(steps)
	for _, f := range s.Fields {
		if want := f.Field == "log"; f.Grows != want {
			t.Errorf("%s grows: %v, want %v", f.Field, f.Grows, want)
		}
	}
	if s.Fields[0].Field != "note" {
		t.Errorf("the first field is %s, want the largest", s.Fields[0].Field)
	}
}
