// Shop is the weft command with a model that needs no key, and a server of the Model Context
// Protocol that its workflow starts: the till of a shop.
//
//	cd examples/mcp
//	go build -o shop .
//	./shop run order.yaml --allow-exec --thread order --input wish=tea
//	./shop resume order --answer '{"cups": 2}' --allow-exec
//
// The model calls the tool order of the till, and the till asks how many cups. That is a question
// of the run, which any process may answer. Without --allow-exec the till is not started.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/state/message"
	"github.com/weftrun/weft/weftcli"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == "till" {
		if err := till().Run(context.Background(), &sdk.StdioTransport{}); err != nil {
			log.Fatal(err)
		}
		return
	}
	weftcli.Main(config())
}

func config() weftcli.Config {
	return weftcli.Config{Name: "shop", Models: map[string]model.Model{"waiter": model.ScriptFunc(answer)}}
}

// answer takes the place of a model: it orders what the guest wishes.
func answer(_ context.Context, r model.Request) model.Answer {
	last := r.Messages[len(r.Messages)-1]
	if last.Role == message.RoleTool {
		return model.Say(last.Text())
	}
	args, err := json.Marshal(drink{last.Text()})
	if err != nil {
		return model.Fail(err)
	}
	return model.Ask(message.Call{ID: "1", Name: "shop_order", Arguments: args})
}

// drink is what the tool order takes.
type drink struct {
	Drink string `json:"drink" jsonschema:"such as tea"`
}

// cups is the form that the till sends to the guest.
const cups = `{"type": "object", "properties": {"cups": {"type": "integer", "minimum": 1}}, "required": ["cups"]}`

// till is a server as any language may have one: it has one tool, which asks before it works.
func till() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "till", Version: "1"}, nil)
	sdk.AddTool(s, &sdk.Tool{Name: "order", Description: "Orders a drink"}, func(_ context.Context, r *sdk.CallToolRequest, d drink) (*sdk.CallToolResult, any, error) {
		reply, ok := r.Params.InputResponses["cups"].(*sdk.ElicitResult)
		if !ok {
			question := &sdk.ElicitParams{Mode: "form", Message: "How many cups of " + d.Drink + "?", RequestedSchema: json.RawMessage(cups)}
			return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{"cups": question}}, nil, nil
		}
		text := "No " + d.Drink + " then."
		if reply.Action == "accept" {
			text = fmt.Sprintf("%v cups of %s are on their way.", reply.Content["cups"], d.Drink)
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}, nil, nil
	})
	return s
}
