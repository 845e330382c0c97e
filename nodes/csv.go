package nodes

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
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
	head, err := r.Read()
	switch {
	case errors.Is(err, io.EOF):
		return nil, fmt.Errorf("read %s: it has no line that names the columns", f.Read)
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", f.Read, err)
	}
	if err := f.checkHead(head); err != nil {
		return nil, err
	}
	rows := []any{}
	for {
		cells, err := r.Read()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", f.Read, err)
		}
		row := make(map[string]any, len(head))
		for i, name := range head {
			if row[name], err = f.cell(name, cells[i]); err != nil {
				line, _ := r.FieldPos(i)
				return nil, fmt.Errorf("read %s: line %d: column %s: %q is no %s", f.Read, line, name, cells[i], f.Columns[name])
			}
		}
		rows = append(rows, row)
	}
}

// checkHead refuses names that would lose cells. An object has each name once, and a file whose
// lines end in CR alone is one long line to the reader.
func (f *File) checkHead(head []string) error {
	for i, name := range head {
		switch {
		case slices.Contains(head[:i], name):
			return fmt.Errorf("read %s: two columns have the name %q", f.Read, name)
		case strings.Contains(name, "\r"):
			return fmt.Errorf("read %s: the column %q holds a CR; end the lines in LF or CRLF", f.Read, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f.Columns)) {
		if !slices.Contains(head, name) {
			return fmt.Errorf("read %s: there is no column %q; it has %s", f.Read, name, strings.Join(head, ", "))
		}
	}
	return nil
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
