package main

import (
	"bytes"
	"net/http"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(closing{m})
}

// closing closes the idle connections of the default client at the end.
type closing struct{ *testing.M }

func (c closing) Run() int {
	defer http.DefaultClient.CloseIdleConnections()
	return c.M.Run()
}

func TestRun_EveryClientGetsTheAnswer(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	want := `MCP: You said: hello
Agent2Agent: You said: hello
AG-UI: You said: hello (in 3 pieces)
AI SDK: You said: hello (in 3 pieces)
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}
