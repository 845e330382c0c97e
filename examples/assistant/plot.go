package main

import (
	"context"
	"fmt"
	"html"
	"strings"

	"github.com/weftrun/weft/capabilities"
	"github.com/weftrun/weft/state/agent"
)

// Picture is a chart in a file.
type Picture struct {
	Path string `json:"path"`
	Of   string `json:"of"`
}

func (Picture) ContextType() string { return "PICTURE" }

func (p Picture) Summary(string) any {
	return fmt.Sprintf("The chart “%s” is in %s.", p.Of, p.Path)
}

// plot draws a table as an SVG below a folder.
func plot(out string) capabilities.Capability {
	return capabilities.Func(capabilities.Info{
		Name: "plot", Description: "draws a table as a chart",
		Requires: []string{"TABLE"}, Provides: []string{"PICTURE"},
		Plan:  &capabilities.PlanGuide{Instructions: "Its input is a table, of this turn or an earlier one.", Priority: 5},
		Match: &capabilities.MatchGuide{Instructions: "When the task wants a plot, a chart or a picture."},
	}, func(_ context.Context, c *capabilities.Call) error {
		t, err := agent.Input[Table](c.Contexts(), c.Step)
		if err != nil {
			return err
		}
		path, err := write(out, fileName(t.Title)+".svg", draw(t))
		if err != nil {
			return err
		}
		c.Manager.Display(c.State).Figure(agent.Figure{Capability: "plot", Path: path, DisplayName: t.Title})
		return c.Store(Picture{path, t.Title})
	})
}

// The sizes of a chart, in pixels: each column of the table is a panel of bars.
const (
	width, panel, margin, ground = 640, 180, 40, 140
	font                         = `font-family="sans-serif" font-size="11"`
)

func draw(t Table) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d">`+"\n", width, margin+panel*len(t.Columns))
	fmt.Fprintf(&b, `<text x="%d" y="24" font-family="sans-serif" font-size="16">%s</text>`+"\n", margin, html.EscapeString(t.Title))
	for i := range t.Columns {
		drawPanel(&b, t, i, margin+panel*i)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// drawPanel draws one column, its top at y. Bars of negative values go down from the zero line.
func drawPanel(b *strings.Builder, t Table, column, y int) {
	low, high := 0.0, 0.0
	for _, r := range t.Rows {
		low, high = min(low, r.Values[column]), max(high, r.Values[column])
	}
	scale := (ground - 20) / max(high-low, 1e-9)
	zero := float64(y+ground) + low*scale
	fmt.Fprintf(b, `<text x="%d" y="%d" %s>%s</text>`+"\n", margin, y+12, font, html.EscapeString(t.Columns[column]))
	step := float64(width-2*margin) / float64(max(1, len(t.Rows)))
	for i, r := range t.Rows {
		v, period := r.Values[column], html.EscapeString(r.Period)
		x, top := margin+step*float64(i), zero-max(v, 0)*scale
		fmt.Fprintf(b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="#4878a8"><title>%s: %.1f</title></rect>`+"\n",
			x, top, step*0.8, max(v, -v)*scale, period, v)
		fmt.Fprintf(b, `<text x="%.1f" y="%d" %s text-anchor="middle">%s</text>`+"\n", x+step*0.4, y+ground+14, font, period)
	}
	fmt.Fprintf(b, `<line x1="%d" y1="%.1f" x2="%d" y2="%.1f" stroke="black"/>`+"\n", margin, zero, width-margin, zero)
}
