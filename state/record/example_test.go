package record_test

import (
	"fmt"

	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/state/record"
)

func ExampleShape() {
	source, err := record.ParseType("object{url: string, title?: string}", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	sources, err := record.ParseType("list<Source>", map[string]record.Type{"Source": source})
	if err != nil {
		fmt.Println(err)
		return
	}
	shape, err := record.NewShape(
		record.Field{Name: "question"},
		record.Field{Name: "sources", Kind: state.KindList, Type: sources},
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	r := shape.New()
	fmt.Println(r.Write("sources", map[string]any{"url": "https://example.com"}))
	fmt.Println(r.Write("sources", []any{map[string]any{"url": 7}}))
	fmt.Println(r.Map())
	// Output:
	// <nil>
	// state: sources[0].url: want string, got number
	// map[question:<nil> sources:[map[url:https://example.com]]]
}
