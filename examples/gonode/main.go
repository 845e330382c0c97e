// Gonode is the weft command with one more node, written in Go.
package main

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

func main() {
	weftcli.Main(weftcli.Config{Name: "gonode", Nodes: map[string]workflow.Kind{"shout": workflow.Go(shout)}})
}
