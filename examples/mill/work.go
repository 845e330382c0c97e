package main

import (
	"context"
	"strings"

	"github.com/weftrun/weft/capabilities"
	"github.com/weftrun/weft/capabilities/tool"
)

type grain struct {
	Grain string `json:"grain"`
}

// Flour is the context that grind stores. Other capabilities can require it.
type Flour struct {
	Of string `json:"of"`
	Kg int    `json:"kg"`
}

// ContextType returns the name of the type in plans.
func (Flour) ContextType() string { return "FLOUR" }

// grind is a capability: what workflows name under "capability:".
var grind = capabilities.Tool(capabilities.Info{Name: "grind", Description: "makes flour of grain"},
	func(_ context.Context, in grain) (Flour, error) { return Flour{in.Grain, 40}, nil })

// weigh is a tool: what workflows name under "tool:".
var weigh = tool.Func(tool.Info{Name: "weigh", Description: "weighs the grain in the loft"},
	func(_ context.Context, in grain) (int, error) { return 10 * len(in.Grain), nil })

// label is a node: what workflows name under "uses: go:label".
func label(_ context.Context, in grain) (string, error) {
	return strings.ToUpper(in.Grain) + " FLOUR", nil
}
