// Mill is the weft command under its own name, with a node, a capability, a tool and a graph in Go:
//
//	go run ./examples/mill run examples/mill/flour.yaml --thread monday --input grain=rye
//	go run ./examples/mill run order --thread tuesday --input sacks=12
//	go run ./examples/mill inbox
//	go run ./examples/mill resume --thread tuesday --answer true
package main

import (
	"github.com/weftrun/weft/capabilities"
	"github.com/weftrun/weft/capabilities/tool"
	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/weftcli"
)

func main() {
	weftcli.Main(weftcli.Config{Name: "mill", Nodes: map[string]workflow.Kind{"label": workflow.Go(label)},
		Capabilities: []capabilities.Capability{grind},
		Tools:        []tool.Tool{weigh},
		Graphs:       map[string]weftcli.Graph{"order": weftcli.Built(order())},
	})
}
