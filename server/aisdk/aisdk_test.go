package aisdk_test

import (
	"net/http/httptest"
	"testing"

	"github.com/weftrun/weft/internal/chattest"
	"github.com/weftrun/weft/internal/sdktest"
	"github.com/weftrun/weft/server"
)

// Requirement: Public clients work unmodified
func TestSDK_Chats(t *testing.T) {
	web := httptest.NewServer(chattest.Start(t, func(c *server.Config) { c.Auth = chattest.Keys() }))
	defer web.Close()
	sdktest.NodeWith(t, []string{"ai@7.0.173"}, "testdata/client.mjs", web.URL)
}
