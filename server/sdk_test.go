package server_test

import (
	"net/http/httptest"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/internal/chattest"
	"github.com/weftrun/weft/internal/sdktest"
)

// Requirement: Public clients work unmodified
func TestSDK_Records(t *testing.T) {
	s := httptest.NewServer(newServer(t, &checkpoint.Memory{}))
	defer s.Close()
	sdktest.Node(t, "testdata/records.mjs", s.URL)
	sdktest.Python(t, "testdata/records.py", s.URL)
}

// Requirement: Public clients work unmodified
func TestSDK_Runs(t *testing.T) {
	handler, stop := startChains(t, &checkpoint.Memory{}, nil)
	defer stop()
	s := httptest.NewServer(handler)
	defer s.Close()
	sdktest.Node(t, "testdata/runs.mjs", s.URL)
	sdktest.Python(t, "testdata/runs.py", s.URL)
}

// Requirement: Public clients work unmodified
func TestSDK_Hooks(t *testing.T) {
	s := httptest.NewServer(chattest.Start(t))
	defer s.Close()
	sdktest.NodeWith(t, []string{
		"@langchain/langgraph-sdk@1.15.0", "@langchain/react@1.1.0", "@langchain/core@1.4.0", "react@19.3.1", "react-dom@19.3.1", "jsdom@26.1.0",
	}, "testdata/hooks.mjs", s.URL)
}
