//go:build unix

package mcp_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weftrun/weft/capabilities/tool"
	"github.com/weftrun/weft/capabilities/tool/mcp"
	"github.com/weftrun/weft/state/message"
)

func Example() {
	web := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return newServer() }, nil))
	defer web.Close()

	ctx := context.Background()
	c, err := mcp.Open(ctx, mcp.Server{Name: "notes", URL: web.URL, Tools: []string{"echo.text"}})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	tools, err := c.Tools(ctx)
	if err != nil {
		log.Fatal(err)
	}
	set, err := tool.NewSet(tools...) // for an agent
	if err != nil {
		log.Fatal(err)
	}
	call := message.Call{ID: "call-1", Name: "notes_echo_text", Arguments: []byte(`{"text": "hello"}`)}
	fmt.Println(set.Do(ctx, call, call.ID, tool.Limits{}).Content[0].Text)
	// Output: hello 1
}
