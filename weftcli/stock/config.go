package stock

import (
	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/capabilities/model/openai"
	"github.com/weftrun/weft/weftcli"
)

// Config returns the configuration of the command weft.
func Config() weftcli.Config {
	return weftcli.Config{
		Stores:    stores(),
		Chats:     chats(),
		Providers: map[string]model.Provider{"openai": openai.Provider()},
	}
}
