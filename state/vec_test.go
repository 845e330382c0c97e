package state

import "testing"

// TestList_FoldOfManyWritesGrowsOnce counts the allocations of a step in which a hundred tasks
// append to a list.
func TestList_FoldOfManyWritesGrowsOnce(t *testing.T) {
	writes := make([]Channel, 100)
	for i := range writes {
		l := ListOf(i)
		writes[i] = l.Channel()
	}
	for name, had := range map[string][]int{"empty": nil, "filled": {1, 2, 3}} {
		allocs := testing.AllocsPerRun(100, func() {
			l := List[int]{base: vecOf(had)}
			before := l
			if err := l.Channel().Fold(writes); err != nil {
				t.Fatal(err)
			}
			if l.Len() != len(had)+100 || l.At(l.Len()-1) != 99 {
				t.Fatalf("%s: got %v", name, l.Slice())
			}
			if added, ok := l.base.since(before.base); !ok || len(added) != 100 {
				t.Errorf("%s: the list after the step does not extend the one before: %v, %v", name, added, ok)
			}
		})
		if allocs > 6 { // two more than a list of these items takes without a fold
			t.Errorf("%s: a fold of 100 writes allocates %v times", name, allocs)
		}
	}
}
