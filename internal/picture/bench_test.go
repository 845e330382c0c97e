package picture_test

import (
	"fmt"
	"testing"

	"github.com/weftrun/weft/internal/picture"
)

func BenchmarkNew(b *testing.B) {
	for _, n := range []int{10, 50, 100, 500} {
		d := layered(n, max(3, n/40))
		b.Run(fmt.Sprintf("nodes=%d/edges=%d", n, len(d.Edges)), func(b *testing.B) {
			for b.Loop() {
				picture.New(d)
			}
		})
	}
}

func BenchmarkSVG(b *testing.B) {
	for _, n := range []int{10, 100, 500} {
		l := picture.New(layered(n, max(3, n/40)))
		b.Run(fmt.Sprint("nodes=", n), func(b *testing.B) {
			for b.Loop() {
				l.SVG(picture.Options{})
			}
		})
	}
}
