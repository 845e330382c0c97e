package tool_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/weftrun/weft/capabilities/tool"
	"github.com/weftrun/weft/state/message"
)

// A tool that calls a Go function, and the results of a model's calls.
func Example() {
	weather := tool.Func(tool.Info{Name: "weather", Description: "the weather of a city"},
		func(_ context.Context, args struct {
			City string `json:"city" jsonschema:"its name in English"`
		}) (string, error) {
			return "sun in " + args.City, nil
		})
	set, err := tool.NewSet(weather)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range set.Run(context.Background(), []message.Call{
		{ID: "1", Name: "weather", Arguments: json.RawMessage(`{"city":"Oslo"}`)},
		{ID: "2", Name: "wether", Arguments: json.RawMessage(`{}`)},
	}, tool.Limits{}) {
		fmt.Println(r.CallID, r.IsError, r.Text())
	}
	// Output:
	// 1 false sun in Oslo
	// 2 true there is no tool "wether"; there are: weather
}
