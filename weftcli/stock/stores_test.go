package stock

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint"
)

func TestStores_HaveTheirSchemes(t *testing.T) {
	got := strings.Join(slices.Sorted(maps.Keys(stores())), " ")
	if want := "cluster+redis cluster+rediss postgres postgresql redis rediss sentinel+redis sentinel+rediss"; got != want {
		t.Errorf("schemes %s, want %s", got, want)
	}
	for scheme, open := range stores() { // each client refuses this address
		if _, err := open(t.Context(), scheme+"://%zz"); !errors.Is(err, checkpoint.ErrUnavailable) {
			t.Errorf("%s: got %v, want an ErrUnavailable", scheme, err)
		}
	}
}
