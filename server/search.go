package server

import (
	"encoding/json"
	"strings"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/server/wire"
)

func sortKey(s wire.Time) string { return document.AtTime(s.Time) }

// checkSort looks a sort key up.
func checkSort[T any](keys map[string]func(*T) string, by, order string) (key func(*T) string, ascending bool, err error) {
	key, known := keys[by]
	if !known {
		return nil, false, invalid("sort_by must be a field that can be sorted (got %.100q)", by)
	}
	switch strings.ToLower(order) {
	case "", "desc":
		return key, false, nil
	case "asc":
		return key, true, nil
	}
	return nil, false, invalid("sort_order must be asc or desc (got %.100q)", order)
}

// answerSearch answers a page of the records that q selects.
func answerSearch[T any](
	c *call, from records[T], p page, fields []string, keys map[string]func(*T) string, by, order string,
	q search[T], wire func(T) any,
) error {
	limit, offset, err := p.check(c.server.limits.Page)
	if err != nil {
		return err
	}
	if err := checkSelect(p.Select, fields); err != nil {
		return err
	}
	if q.sort, q.ascending, err = checkSort(keys, by, order); err != nil {
		return err
	}
	q.offset, q.limit = offset, limit
	found, total, err := from.find(c.Context(), q)
	if err != nil {
		return err
	}
	list := make([]json.RawMessage, len(found))
	for i, r := range found {
		data, err := encode(wire(r))
		if err != nil {
			return err
		}
		list[i] = selected(data, p.Select)
	}
	return c.answerPage(list, offset, total)
}

// matchMetadata reports whether metadata contain what a client asks for, and pass a filter.
func matchMetadata(metadata wire.Object, want tree, filter Filter) bool {
	if len(want) == 0 && len(filter) == 0 {
		return true
	}
	have := decoded(metadata)
	return contains(have, want) && filter.accepts(have)
}
