// Command weft is the command line of Weft, with the export of traces and metrics to an
// OpenTelemetry collector:
//
//	weft run --otlp http://localhost:4318 flow.yaml
//	weft serve --otlp env flow.yaml # takes the address from OTEL_EXPORTER_OTLP_ENDPOINT
package main

import (
	"fmt"
	"os"

	"github.com/weftrun/weft/otel"
	"github.com/weftrun/weft/otel/otlp"
	"github.com/weftrun/weft/weftcli"
	"github.com/weftrun/weft/weftcli/stock"
)

func main() {
	c := stock.Config()
	c.Telemetry = otlp.Open
	o, err := otel.New(otel.Config{}) // uses the global OpenTelemetry providers, which otlp.Open sets
	if err != nil {
		fmt.Fprintln(os.Stderr, "weft:", err)
		os.Exit(1)
	}
	for name, p := range c.Providers {
		c.Providers[name] = o.Provider(name, p)
	}
	weftcli.Main(c)
}
