// Command weft runs workflows written in YAML: see weft --help.
package main

import (
	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/capabilities/model/openai"
	"github.com/weftrun/weft/weftcli"
)

func main() {
	weftcli.Main(weftcli.Config{
		Stores:    stores(),
		Chats:     chats(),
		Providers: map[string]model.Provider{"openai": openai.Provider()},
	})
}
