// Serve is the weft command with a graph in Go and a web page. One command serves the graph, a
// workflow and the page:
//
//	go run ./examples/serve dev draft examples/serve/greet.yaml --listen 127.0.0.1:8123
//
// The page at http://127.0.0.1:8123/page/ writes a draft, and asks whether to publish it. It uses
// the public JavaScript SDK of LangGraph's server.
package main

import (
	"context"
	"embed"
	"net/http"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/server"
	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/weftcli"
)

// Draft is a text that a person approves.
type Draft struct {
	Topic     state.Value[string] `json:"topic"`
	Text      state.Value[string] `json:"text"`
	Published state.Value[bool]   `json:"published"`
}

func write(_ context.Context, d *Draft) error {
	d.Text.Set("All about " + d.Topic.Get() + ".")
	return nil
}

func review(ctx context.Context, d *Draft) error {
	ok, err := graph.Ask[bool](ctx, graph.Question{Prompt: "Publish?", Detail: d.Text.Get()})
	if err != nil {
		return err
	}
	d.Published.Set(ok)
	return nil
}

func draft() *graph.Builder[Draft] {
	b := graph.New[Draft]("draft")
	b.Node("write", graph.Func(write))
	b.Node("review", graph.Func(review))
	b.Edge(graph.Start, "write")
	b.Edge("write", "review")
	b.Edge("review", graph.End)
	return b
}

//go:embed page
var page embed.FS

// pages serves the page beside the endpoints of the server.
func pages(c *server.Config) {
	c.Routes = http.NewServeMux()
	c.Routes.Handle("GET /page/", http.FileServerFS(page))
}

func main() {
	weftcli.Main(weftcli.Config{
		Name:   "serve",
		Graphs: map[string]weftcli.Graph{"draft": weftcli.Built(draft())},
		Server: pages,
	})
}
