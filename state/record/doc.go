// Package record is the state of a graph that has no Go type, such as one that is written down in
// YAML: the channels of package state by name instead of by field.
//
// A [Shape] declares the fields, each with the [state.Kind] of its channel and the [Type] of its
// values. A [Record] holds them; the runtime gives each task one of its own, as it gives a copy of
// a struct:
//
//	sources, err := record.ParseType("list<object{url: string, title?: string}>", nil)
//	shape, err := record.NewShape(
//		record.Field{Name: "question"},
//		record.Field{Name: "sources", Kind: state.KindList, Type: sources},
//	)
//
//	b := graph.NewRecord("review", shape)
//	b.Node("search", graph.Func(func(ctx context.Context, r *record.Record) error {
//		return r.Write("sources", map[string]any{"url": "https://example.org"})
//	}))
//
// The values are plain: nil, bool, string, int64, float64, []any and map[string]any. What is
// written is checked against the type of its field and copied, so that no node can change what
// another one holds. A channel of another package is a field by [ForeignOf].
//
// The merges, the lifetimes, the stored bytes and the laws are those of package state. What a
// record costs more than a struct is one look-up by name for each read and write, and the check of
// what is written.
package record
