package threadtest

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/internal/complaints"
)

func TestMap(t *testing.T) {
	Run(t, func(testing.TB) document.Store { return &document.Map{} })
}

// rows 1 to 48 of the manager, and 1 to 24 of the agent's state.
func TestEveryRowIsThere(t *testing.T) {
	for prefix, n := range map[string]int{"SM": 48, "AP": 24} {
		for i := range n {
			if name := fmt.Sprintf("%s%02d", prefix, i+1); !slices.Contains(Names(), name) {
				t.Errorf("rule: each row is a sub-test\n got: no %s", name)
			}
		}
	}
}

// forgetful says that it has stored what it has not.
type forgetful struct{ *document.Map }

func (f forgetful) Set(_ context.Context, p document.Place, c document.Change) (document.Doc, error) {
	return document.Doc{Place: p, ID: c.ID, Value: c.Value, Version: 1, Seq: 1}, nil
}

// careless is a store without conditions.
type careless struct{ *document.Map }

func (c careless) Set(ctx context.Context, p document.Place, change document.Change) (document.Doc, error) {
	change.If = nil
	runtime.Gosched()
	return c.Map.Set(ctx, p, change)
}

func TestEveryRowCanFail(t *testing.T) {
	content := map[string]bool{ // with a store that forgets: they are about refusals, or about what is not there
		"SM01": true, "SM03": true, "SM04": true, "SM05": true, "SM13": true, "SM17": true, "SM19": true, "SM23": true, "SM29": true, "AP02": true, "AP09": true, "AP10": true, "AP11": true, "AP12": true,
	}
	for _, name := range Names() {
		if got := complaintsOf(t, name, forgetful{&document.Map{}}); (got == "") != content[name] {
			t.Errorf("rule: a store that forgets is caught by all that read what was written\n got: %s says %q", name, got)
		}
	}
}

func TestLostUpdatesAreCaught(t *testing.T) {
	for range 200 { // a race may end well now and then
		if complaintsOf(t, "SM48", careless{&document.Map{}}) != "" {
			return
		}
	}
	t.Error("rule: a store that loses updates is caught by SM48\n got: silence")
}

// complaintsOf runs one row on a store.
func complaintsOf(t *testing.T, name string, s document.Store) string {
	t.Helper()
	return complaints.Of(t, func(tb testing.TB) { Row(tb, name, s) })
}
