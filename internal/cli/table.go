package cli

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"
)

// table prints rows in columns, or with --json one object a line.
type table struct {
	*app
	w *tabwriter.Writer
}

func (a *app) table(head ...string) *table {
	t := &table{a, tabwriter.NewWriter(a.Stdout, 0, 8, 2, ' ', 0)}
	if !a.json {
		fmt.Fprintln(t.w, strings.Join(head, "\t"))
	}
	return t
}

// add prints one row, which is v as JSON or the cells.
func (t *table) add(v any, cells ...any) error {
	if t.json {
		return t.printJSON(v)
	}
	words := make([]string, len(cells))
	for i, c := range cells {
		words[i] = cell(c)
	}
	_, err := fmt.Fprintln(t.w, strings.Join(words, "\t"))
	return err
}

func (t *table) flush() error { return t.w.Flush() }

// cell returns a value as it stands in a table; an empty one is a dash.
func cell(v any) string {
	if at, ok := v.(time.Time); ok {
		return at.Local().Format(time.DateTime)
	}
	text := strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, fmt.Sprint(v))
	if text == "" {
		return "-"
	}
	return text
}

// times names something that is there n times.
func times(name string, n int) string { return fmt.Sprintf("%s×%d", name, n) }
