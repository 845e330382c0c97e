// Command weft is the command line of Weft with the providers of models anthropic and gemini:
//
//	models:
//	  claude: {provider: anthropic, model: claude-sonnet-4-5, fallback: [gemini]}
//	  gemini: {provider: gemini, model: gemini-2.5-flash}
package main

import (
	"github.com/weftrun/weft/models/anthropic"
	"github.com/weftrun/weft/models/gemini"
	"github.com/weftrun/weft/weftcli"
	"github.com/weftrun/weft/weftcli/stock"
)

func main() {
	c := stock.Config()
	c.Providers["anthropic"], c.Providers["gemini"] = anthropic.Provider(), gemini.Provider()
	weftcli.Main(c)
}
