// Command clients serves one assistant, and calls it as four kinds of clients do: an agent with the
// Model Context Protocol, an agent with the Agent2Agent protocol, and pages with AG-UI and with the
// AI SDK.
//
//	go run ./examples/clients
//
// It needs no key: the assistant repeats each message.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/weftrun/weft/capabilities/tool"
	"github.com/weftrun/weft/capabilities/tool/mcp"
	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/server"
	"github.com/weftrun/weft/state/message"
)

// Talk is a conversation.
type Talk struct {
	Messages message.Log `json:"messages"`
}

// answer streams an answer word by word, and adds it to the conversation.
func answer(ctx context.Context, t *Talk) error {
	last, _ := t.Messages.Last()
	text := "You said: " + last.Text()
	for _, word := range strings.SplitAfter(text, " ") {
		if err := graph.EmitMessage(ctx, graph.Token{ID: last.ID + "-answer", Role: "assistant", Delta: word}); err != nil {
			return err
		}
	}
	if err := graph.EmitMessage(ctx, graph.Token{ID: last.ID + "-answer", Role: "assistant", Final: true, Text: text}); err != nil {
		return err
	}
	m := message.Assistant(text)
	m.ID = last.ID + "-answer"
	return t.Messages.Add(m)
}

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, w io.Writer) error {
	store := new(checkpoint.Memory)
	b := graph.New[Talk]("echo")
	b.Node("answer", graph.Func(answer))
	b.Edge(graph.Start, "answer")
	b.Edge("answer", graph.End)
	g, err := b.Compile(graph.Config{Store: store})
	if err != nil {
		return err
	}
	s, err := server.New(ctx, server.Config{Store: store, Log: slog.New(slog.DiscardHandler), Graphs: map[string]graph.Untyped{"echo": g.Untyped()}})
	if err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(ctx, time.Minute)
	var work sync.WaitGroup
	work.Go(func() { s.Work(ctx, server.Workers{Slots: 2}) })
	defer work.Wait()
	defer stop()
	web := httptest.NewServer(s)
	defer web.Close()

	for _, c := range []struct {
		name string
		call func(context.Context, string) (string, error)
	}{{"MCP", callMCP}, {"Agent2Agent", callA2A}, {"AG-UI", callAGUI}, {"AI SDK", callAISDK}} {
		text, err := c.call(ctx, web.URL)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		fmt.Fprintf(w, "%s: %s\n", c.name, text)
	}
	return nil
}

// callMCP uses the assistant as the tool of another agent.
func callMCP(ctx context.Context, url string) (string, error) {
	c, err := mcp.Open(ctx, mcp.Server{Name: "weft", URL: url + "/mcp", Tools: []string{"echo"}})
	if err != nil {
		return "", err
	}
	defer c.Close()
	tools, err := c.Tools(ctx)
	if err != nil {
		return "", err
	}
	set, err := tool.NewSet(tools...) // such as the Tools of react.Config
	if err != nil {
		return "", err
	}
	call := message.Call{ID: "1", Name: "weft_echo", Arguments: []byte(`{"messages": [{"role": "user", "content": "hello"}]}`)}
	r := set.Do(ctx, call, call.ID, tool.Limits{})
	if r.IsError {
		return "", fmt.Errorf("the tool has failed: %s", r.Text())
	}
	var state struct { // at the end of the run, as the clients of the server get it
		Messages []struct{ Content string }
	}
	if err := json.Unmarshal([]byte(r.Text()), &state); err != nil {
		return "", err
	}
	if len(state.Messages) == 0 {
		return "", errors.New("the assistant has not answered")
	}
	return state.Messages[len(state.Messages)-1].Content, nil
}

// callA2A sends a message to the assistant as another agent does.
func callA2A(ctx context.Context, url string) (string, error) {
	body, err := post(ctx, url+"/a2a/echo", `{"jsonrpc": "2.0", "id": 1, "method": "message/send",
		"params": {"message": {"messageId": "m1", "role": "user", "parts": [{"kind": "text", "text": "hello"}]}}}`)
	if err != nil {
		return "", err
	}
	defer body.Close()
	var r struct {
		Result struct {
			Artifacts []struct {
				Parts []struct{ Text string }
			}
		}
	}
	if err := json.NewDecoder(body).Decode(&r); err != nil {
		return "", err
	}
	text := ""
	for _, a := range r.Result.Artifacts {
		for _, p := range a.Parts {
			text += p.Text
		}
	}
	return text, nil
}

// callAGUI reads the events of AG-UI.
func callAGUI(ctx context.Context, url string) (string, error) {
	return deltas(ctx, url+"/agui/echo", "TEXT_MESSAGE_CONTENT", `{"threadId": "chat-1", "runId": "run-1", "state": {}, "tools": [], "context": [],
		"messages": [{"id": "m1", "role": "user", "content": "hello"}], "forwardedProps": {}}`)
}

// callAISDK reads the stream of the AI SDK.
func callAISDK(ctx context.Context, url string) (string, error) {
	return deltas(ctx, url+"/ai-sdk/echo", "text-delta", `{"id": "chat-2", "trigger": "submit-message",
		"messages": [{"id": "m1", "role": "user", "parts": [{"type": "text", "text": "hello"}]}]}`)
}

// deltas joins the pieces of a text in server-sent events of a type.
func deltas(ctx context.Context, url, kind, request string) (text string, err error) {
	body, err := post(ctx, url, request)
	if err != nil {
		return "", err
	}
	defer body.Close()
	pieces := 0
	lines := bufio.NewScanner(body)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		var e struct{ Type, Delta string }
		if ok && json.Unmarshal([]byte(data), &e) == nil && e.Type == kind {
			text, pieces = text+e.Delta, pieces+1
		}
	}
	return fmt.Sprintf("%s (in %d pieces)", text, pieces), lines.Err()
}

func post(ctx context.Context, url, request string) (io.ReadCloser, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewBufferString(request))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		defer res.Body.Close()
		text, _ := io.ReadAll(io.LimitReader(res.Body, 1000))
		return nil, fmt.Errorf("%s: %s", res.Status, text)
	}
	return res.Body, nil
}
