// Command weft runs workflows written in YAML: see weft --help.
package main

import (
	"github.com/weftrun/weft/weftcli"
	"github.com/weftrun/weft/weftcli/stock"
)

func main() { weftcli.Main(stock.Config()) }
