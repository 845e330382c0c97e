package picture_test

import (
	"encoding/xml"
	"fmt"
	"strings"
	"testing"

	"github.com/weftrun/weft/internal/picture"
)

func TestAreas_AreStacked(t *testing.T) {
	c := picture.Chart{Title: "a < b", Columns: []string{"1", "2", "3"}, Unit: func(n int) string { return fmt.Sprint(n, " B") }}
	for i := range 9 {
		c.Areas = append(c.Areas, picture.Area{Name: fmt.Sprintf("f%d", i), Values: []int{1, 100 - i, 200 - i}})
	}
	for columns := range 3 {
		c := c
		c.Columns = c.Columns[:columns+1]
		c.Areas = nil
		for i := range 9 {
			c.Areas = append(c.Areas, picture.Area{Name: fmt.Sprintf("f%d", i), Values: []int{1, 100 - i, 200 - i}[:columns+1]})
		}
		svg := picture.Areas(c)
		if err := xml.Unmarshal([]byte(svg), new(struct{})); err != nil {
			t.Fatalf("the chart is not XML: %v\n%s", err, svg)
		}
		if n := strings.Count(svg, `class="area `); n != 6 || !strings.Contains(svg, "4 others: ") || !strings.Contains(svg, "a &lt; b") {
			t.Errorf("%d columns have %d areas:\n%s", columns+1, n, svg)
		}
	}
	if svg := picture.Areas(c); !strings.Contains(svg, "<title>f0: 200 B</title>") || !strings.Contains(svg, `>f1</text>`) {
		t.Errorf("the chart has no name or value:\n%s", svg)
	}
}
