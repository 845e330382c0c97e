package weft_test

import (
	"context"
	"strings"

	"github.com/weftrun/weft"
	"github.com/weftrun/weft/graph/workflow"
)

type text struct {
	Text string `json:"text"`
}

func shout(_ context.Context, in text) (string, error) { return strings.ToUpper(in.Text) + "!", nil }

// A program whose workflows may say "uses: go:shout". It is not run here, because Main
// ends the process; examples/gonode is the same program with its test.
func ExampleMain() {
	weft.Main(weft.Config{Name: "shout", Nodes: map[string]workflow.Kind{"shout": workflow.Go(shout)}})
}
