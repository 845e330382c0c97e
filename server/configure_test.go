package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/server"
)

// A graph may store the settings of a run with its input.
func TestRun_IsConfigured(t *testing.T) {
	store := new(checkpoint.Memory)
	s, stop := startChains(t, store, nil, func(c *server.Config) {
		b := graph.New[echoState]("set")
		b.Node("end", graph.Func(func(context.Context, *echoState) error { return nil }))
		b.Edge(graph.Start, "end")
		b.Edge("end", graph.End)
		g, err := b.Compile(graph.Config{Store: store, Configure: func(_ json.RawMessage, of, more map[string]json.RawMessage) (json.RawMessage, error) {
			if string(of["tone"]) != `"kind"` {
				return nil, errors.New("tone must be kind")
			}
			return json.Marshal(map[string]string{"text": fmt.Sprintf("%s %s", of["tone"], more["size"])})
		}})
		if err != nil {
			t.Fatal(err)
		}
		c.Graphs["agent"] = g.Untyped()
	})
	defer stop()
	for _, c := range []struct {
		body   string
		status int
		member string
		want   string
	}{
		{`{"assistant_id":"agent","input":{"text":"x"},"context":{"tone":"kind"},"config":{"configurable":{"size":3}}}`, 200, "text", `"kind" 3`},
		{`{"assistant_id":"agent","input":{"text":"x"},"context":{"tone":"none"}}`, 422, "detail", "tone must be kind"},
	} {
		r, w := httptest.NewRequest(http.MethodPost, "/runs/wait", strings.NewReader(c.body)), httptest.NewRecorder()
		r.Header.Set("Content-Type", "application/json")
		s.ServeHTTP(w, r)
		if got := gjson.Get(w.Body.String(), c.member).String(); w.Code != c.status || got != c.want {
			t.Errorf("%s: got %d %s, want %d and %q", c.body, w.Code, w.Body, c.status, c.want)
		}
	}
}
