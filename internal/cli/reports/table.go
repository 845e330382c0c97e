package reports

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"
)

// Table prints rows in columns, or with --json one object a line.
type Table struct {
	*Output
	w *tabwriter.Writer
}

// Table begins a table. The caller calls Flush at the end.
func (o *Output) Table(head ...string) *Table {
	t := &Table{o, tabwriter.NewWriter(o.Stdout, 0, 8, 2, ' ', 0)}
	if !o.JSON {
		fmt.Fprintln(t.w, strings.Join(head, "\t"))
	}
	return t
}

// Add prints one row: v as JSON, or the cells.
func (t *Table) Add(v any, cells ...any) error {
	if t.JSON {
		return t.PrintJSON(v)
	}
	words := make([]string, len(cells))
	for i, c := range cells {
		words[i] = Cell(c)
	}
	_, err := fmt.Fprintln(t.w, strings.Join(words, "\t"))
	return err
}

// Flush prints the rows that are not printed yet.
func (t *Table) Flush() error { return t.w.Flush() }

// Cell returns a value as the text of a cell. An empty value is a dash.
func Cell(v any) string {
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

// Count formats a name with a number, such as "a×3".
func Count(name string, n int) string { return fmt.Sprintf("%s×%d", name, n) }
