package completions_test

import (
	"net/http/httptest"
	"testing"

	"github.com/weftrun/weft/internal/chattest"
	"github.com/weftrun/weft/internal/sdktest"
	"github.com/weftrun/weft/server"
)

func TestSDK_JavaScript(t *testing.T) {
	web := httptest.NewServer(chattest.Start(t, func(c *server.Config) { c.Auth = chattest.Keys() }))
	defer web.Close()
	sdktest.NodeWith(t, []string{"openai@7.57.0"}, "testdata/client.mjs", web.URL)
}

func TestSDK_Python(t *testing.T) {
	web := httptest.NewServer(chattest.Start(t, func(c *server.Config) { c.Auth = chattest.Keys() }))
	defer web.Close()
	sdktest.PythonWith(t, []string{"openai==3.57.0"}, "testdata/client.py", web.URL)
}
