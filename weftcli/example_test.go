package weftcli_test

import (
	"context"
	"strings"

	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/weftcli"
)

type text struct {
	Text string `json:"text"`
}

func shout(_ context.Context, in text) (string, error) { return strings.ToUpper(in.Text) + "!", nil }

// A program whose workflows can contain "uses: go:shout". The example only compiles, because Main
// ends the process. The program in examples/gonode has the same node and a test.
func ExampleMain() {
	weftcli.Main(weftcli.Config{Name: "shout", Nodes: map[string]workflow.Kind{"shout": workflow.Go(shout)}})
}
