package picture

import (
	"fmt"
	"strings"
)

// Chart is numbers over columns, such as the bytes of fields at checkpoints.
type Chart struct {
	Title   string
	Columns []string
	Areas   []Area             // the first is at the bottom
	Unit    func(n int) string // a number for people
}

// Area is a row of numbers, one for each column of a chart.
type Area struct {
	Name   string
	Values []int
}

// Sizes of a chart of areas in pixels.
const (
	areasWidth  = 640
	areasHeight = 200
	areasNames  = 150 // of the names at the right
	areasLeft   = 64
	areaKinds   = 6 // colours; more areas are drawn as one
)

// Areas returns a chart whose areas are stacked. A name is written at the right of each area that
// is high enough; each area has its name as a tooltip.
func Areas(c Chart) string {
	areas := c.Areas
	if len(areas) > areaKinds {
		rest := Area{Name: fmt.Sprintf("%d others", len(areas)-areaKinds+1), Values: make([]int, len(c.Columns))}
		for _, a := range areas[areaKinds-1:] {
			for i, v := range a.Values {
				rest.Values[i] += v
			}
		}
		areas = append(append([]Area{}, areas[:areaKinds-1]...), rest)
	}
	sums, most := make([]int, len(c.Columns)), 1
	for _, a := range areas {
		for i, v := range a.Values {
			sums[i] += v
		}
	}
	for _, s := range sums {
		most = max(most, s)
	}
	w := &svgWriter{ids: map[string]bool{}}
	w.printf(`<svg xmlns="http://www.w3.org/2000/svg" class="weft-picture weft-areas" viewBox="0 0 %d %d" width="%[1]d" height="%[2]d" role="img" aria-labelledby="weft-areas">`+"\n",
		areasLeft+areasWidth+areasNames, areasHeight+30)
	w.printf("<title id=\"weft-areas\">%s</title>\n", escape(c.Title))
	x := func(i int) int { return areasLeft + areasWidth*i/max(1, len(c.Columns)-1) }
	y := func(v int) int { return 10 + areasHeight - int(int64(areasHeight)*int64(v)/int64(most)) }
	for _, part := range []int{0, 1, 2} {
		v := most * part / 2
		w.printf(`<path class="grid" d="M%d %dH%d"/><text class="time-sum" x="%d" y="%d">%s</text>`+"\n", areasLeft, y(v), areasLeft+areasWidth, areasLeft-8, y(v)+4, escape(c.Unit(v)))
	}
	below, under := make([]int, len(c.Columns)), 0 // under is the y below which there is room for a name
	for n, a := range areas {
		var top, bottom strings.Builder
		for i, v := range a.Values {
			fmt.Fprintf(&top, "L%d %d", x(i), y(below[i]+v))
			at := len(a.Values) - 1 - i
			fmt.Fprintf(&bottom, "L%d %d", x(at), y(below[at]))
		}
		if len(a.Values) == 1 {
			fmt.Fprintf(&top, "H%dV%d", areasLeft+areasWidth, y(below[0]))
		}
		last := len(a.Values) - 1
		w.printf(`<g class="area area-%d"><title>%s: %s</title><path d="M%s%sZ"/></g>`+"\n", n, escape(a.Name), escape(c.Unit(a.Values[last])), top.String()[1:], bottom.String())
		middle := (y(below[last]+a.Values[last])+y(below[last]))/2 + 4
		if high := y(below[last]) - y(below[last]+a.Values[last]); high >= 6 && (under == 0 || under-middle >= 12) {
			w.printf(`<text class="area-name" x="%d" y="%d">%s</text>`+"\n", areasLeft+areasWidth+8, middle, escape(cut(clean(a.Name), timeText, areasNames-10)))
			under = middle
		}
		for i, v := range a.Values {
			below[i] += v
		}
	}
	for _, i := range []int{0, len(c.Columns) - 1} {
		w.printf(`<text class="sub" x="%d" y="%d">%s</text>`+"\n", x(i), areasHeight+25, escape(c.Columns[i]))
		if len(c.Columns) == 1 {
			break
		}
	}
	w.printf("</svg>\n")
	return w.String()
}
