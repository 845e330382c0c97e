package mcptest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Variable is the environment variable that makes [Serve] a server. Its value is the file that
// records what was paid.
const Variable = "MCP_TEST_SERVER"

// newServer has a tool that repeats a text, and one that asks a person before it pays.
func newServer(log string) *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	type text struct {
		Text string `json:"text"`
	}
	sdk.AddTool(s, &sdk.Tool{Name: "echo", Description: "repeats a text"},
		func(_ context.Context, _ *sdk.CallToolRequest, in text) (*sdk.CallToolResult, any, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: in.Text + " " + os.Getenv("SHOP_KEY")}}}, nil, nil
		})
	sdk.AddTool(s, &sdk.Tool{Name: "pay", Description: "pays"},
		func(_ context.Context, r *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
			answer, ok := r.Params.InputResponses["amount"].(*sdk.ElicitResult)
			if !ok {
				return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{"amount": &sdk.ElicitParams{
					Message: "How much?\nIn euros.", Mode: "form",
					RequestedSchema: json.RawMessage(`{"type":"object","properties":{"amount":{"type":"integer"}},"required":["amount"]}`),
				}}}, nil, nil
			}
			if log != "" && answer.Action == "accept" {
				_ = os.WriteFile(log, fmt.Appendf(nil, "paid %v", answer.Content["amount"]), 0o600)
			}
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: fmt.Sprintf("%s %v", answer.Action, answer.Content["amount"])}}}, nil, nil
		})
	s.AddResource(&sdk.Resource{URI: "shop:menu", Name: "menu"}, func(_ context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: r.Params.URI, Text: "text of " + r.Params.URI}}}, nil
	})
	return s
}

// Serve is a server on standard input and output if [Variable] is set, and returns true at its end.
func Serve() bool {
	log := os.Getenv(Variable)
	if log != "" {
		_ = newServer(log).Run(context.Background(), &sdk.StdioTransport{}) // it ends with its input
	}
	return log != ""
}

// Handler is a server at an address. It calls heard with each request.
func Handler(heard func(*http.Request)) http.Handler {
	return sdk.NewStreamableHTTPHandler(func(r *http.Request) *sdk.Server {
		heard(r)
		return newServer("")
	}, &sdk.StreamableHTTPOptions{Stateless: true})
}
