package nodes

import (
	"encoding/csv"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// convert reads a cell as a column's type.
var convert = map[string]func(string) (any, error){
	"string": func(s string) (any, error) { return s, nil },
	"int":    func(s string) (any, error) { return strconv.ParseInt(s, 10, 64) },
	"number": func(s string) (any, error) { return strconv.ParseFloat(s, 64) },
	"bool":   func(s string) (any, error) { return strconv.ParseBool(s) },
}

func (f *File) checkColumns() error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(f.Columns)) {
		if convert[f.Columns[name]] == nil {
			errs = append(errs, fmt.Errorf("column %s must be string, int, number or bool, not %q", name, f.Columns[name]))
		}
	}
	return errors.Join(errs...)
}

// rows reads CSV whose first line names the columns.
func (f *File) rows(data []byte) ([]any, error) {
	if err := f.checkColumns(); err != nil {
		return nil, err
	}
	r := csv.NewReader(strings.NewReader(strings.TrimPrefix(string(data), "\ufeff")))
	lines, err := r.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", f.Read, err)
	}
	if len(lines) == 0 {
		return nil, fmt.Errorf("read %s: it has no line that names the columns", f.Read)
	}
	head := lines[0]
	for name := range f.Columns {
		if !slices.Contains(head, name) {
			return nil, fmt.Errorf("read %s: there is no column %q; it has %s", f.Read, name, strings.Join(head, ", "))
		}
	}
	rows := make([]any, 0, len(lines)-1)
	for i, cells := range lines[1:] {
		row := make(map[string]any, len(head))
		for j, name := range head {
			if row[name], err = f.cell(name, cells[j]); err != nil {
				return nil, fmt.Errorf("read %s: line %d: column %s: %q is no %s", f.Read, i+2, name, cells[j], f.Columns[name])
			}
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func (f *File) cell(column, text string) (any, error) {
	kind := f.Columns[column]
	switch {
	case kind == "" || kind == "string":
		return text, nil
	case text == "":
		return nil, nil
	}
	return convert[kind](strings.TrimSpace(text))
}
