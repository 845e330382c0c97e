// Command fallback asks a model of Anthropic, and one of Google if that cannot answer. One budget
// limits both.
//
// It needs no key: two servers in this process play the providers. The first is overloaded.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/models/anthropic"
	"github.com/weftrun/weft/models/gemini"
	"github.com/weftrun/weft/state/message"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, w io.Writer) error {
	busy := httptest.NewServer(http.HandlerFunc(overloaded))
	defer busy.Close()
	fine := httptest.NewServer(http.HandlerFunc(answers))
	defer fine.Close()

	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	claude, err := anthropic.New(anthropic.Config{Model: "claude", BaseURL: busy.URL, Client: client})
	if err != nil {
		return err
	}
	flash, err := gemini.New(gemini.Config{Model: "flash", BaseURL: fine.URL, Client: client})
	if err != nil {
		return err
	}
	meter := &model.Meter{Budget: model.Budget{Calls: 3}}
	m := model.Fallback(model.Limited(claude, meter), model.Limited(flash, meter))

	request := model.Request{Messages: []message.Message{message.User("Which provider answers?")}}
	r, err := model.Generate(ctx, m, request)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%s: %s\n", r.Model, r.Message.Text())
	fmt.Fprintf(w, "%d of %d calls are spent\n", meter.Spent().Calls, meter.Budget.Calls)

	_, err = model.Generate(ctx, m, request) // one call is left, for the overloaded model
	fmt.Fprintln(w, err)
	return nil
}

func overloaded(w http.ResponseWriter, _ *http.Request) {
	w.WriteHeader(529)
	fmt.Fprint(w, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`)
}

func answers(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprint(w, `data: {"candidates":[{"content":{"parts":[{"text":"The second one."}]},"finishReason":"STOP"}],"modelVersion":"flash-1"}`+"\n\n")
}
