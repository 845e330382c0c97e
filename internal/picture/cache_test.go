package picture_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/weftrun/weft/internal/picture"
)

func TestCache_TheSameGraphHasOneLayout(t *testing.T) {
	var c picture.Cache
	run, turn := reviewed()
	first := c.Layout(run)
	if again := c.Layout(loop); again != first {
		t.Error("a graph and a run in it have two layouts")
	}
	if run.Nodes[2].Ran == 0 {
		t.Error("the cache changed the drawing")
	}
	o := picture.Options{Run: picture.NewRun(run, turn)}
	if got, want := first.SVG(o), picture.New(run).SVG(o); got != want {
		t.Errorf("the layout of the cache gives\n%s\nwant\n%s", got, want)
	}
	if c.Layout(draw("loop", "start>search", "search>end")) == first {
		t.Error("two graphs have one layout")
	}
}

func TestCache_IsBounded(t *testing.T) {
	var c picture.Cache
	first := c.Layout(loop)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for j := range 20 {
				c.Layout(draw(fmt.Sprint(i, j), "start>a", "a>end"))
			}
		})
	}
	all.Wait()
	if c.Layout(loop) == first {
		t.Error("160 graphs later, the first layout is still there")
	}
}
