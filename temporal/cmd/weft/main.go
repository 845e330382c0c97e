// Command weft is the command line of Weft with the engine Temporal:
//
//	weft worker --engine temporal://localhost:7233/default --store redis://localhost flow.yaml
//	weft run --engine temporal://localhost:7233/default --store redis://localhost flow.yaml
package main

import (
	"github.com/weftrun/weft/temporal/engine"
	"github.com/weftrun/weft/weftcli"
	"github.com/weftrun/weft/weftcli/stock"
)

func main() {
	c := stock.Config()
	c.Engines = map[string]weftcli.EngineOpener{engine.Scheme: engine.Open}
	weftcli.Main(c)
}
