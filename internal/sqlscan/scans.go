package sqlscan

import "github.com/weftrun/weft/checkpoint/document"

// SQL returns the end of a query of the table d, which has the columns collection, part, ord and
// seq: the conditions, the order and the limit, which is that of the scan plus 1. Each ? is a
// placeholder for one of args, which are []byte or int64. An index over the four columns covers the
// query.
func SQL(s document.Scan) (text string, args []any) {
	text, args = Where(s)
	and := func(condition string, values ...any) {
		text, args = text+" AND "+condition, append(args, values...)
	}
	than, direction := ">", ""
	if s.Reverse {
		than, direction = "<", " DESC"
	}
	order := "d.ord" + direction + ", d.seq" + direction
	switch {
	case s.Partition == "":
		order = "d.part" + direction + ", " + order
		if s.After != nil {
			and("(d.part, d.ord, d.seq) "+than+" (?, ?, ?)", []byte(s.After.Partition), []byte(s.After.Order), int64(s.After.Seq))
		}
	case s.After != nil:
		and("(d.ord, d.seq) "+than+" (?, ?)", []byte(s.After.Order), int64(s.After.Seq))
	}
	return text + " ORDER BY " + order + " LIMIT ?", append(args, int64(s.Limit)+1)
}

// Where returns the conditions of the range of a scan, without its After, as [SQL] does.
func Where(s document.Scan) (text string, args []any) {
	text, args = " WHERE d.collection = ?", []any{[]byte(s.Collection)}
	and := func(condition string, value string) {
		text, args = text+" AND "+condition, append(args, []byte(value))
	}
	if s.Partition != "" {
		and("d.part = ?", s.Partition)
	}
	if s.From != "" {
		and("d.ord >= ?", s.From)
	}
	if s.Until != "" {
		and("d.ord < ?", s.Until)
	}
	return text, args
}
