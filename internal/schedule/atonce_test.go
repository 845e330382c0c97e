package schedule_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weftrun/weft/internal/schedule"
)

func TestAtOnce_WaitsForAllAndPanicsInItsCaller(t *testing.T) {
	met := make(chan struct{})
	returned := false
	defer func() {
		if v := fmt.Sprint(recover()); !strings.HasPrefix(v, "no\n\n") || !strings.Contains(v, "atonce_test.go") || !returned {
			t.Errorf("it panicked with %q; the other function has returned: %t", v, returned)
		}
	}()
	schedule.AtOnce(func() {
		met <- struct{}{}
		panic("no")
	}, func() {
		<-met
		returned = true
	})
}

func TestAtOnce_Nothing(t *testing.T) { schedule.AtOnce() }
