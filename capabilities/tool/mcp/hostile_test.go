//go:build unix

package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/weftrun/weft/capabilities/tool"
	"github.com/weftrun/weft/capabilities/tool/mcp"
)

// hostile is a server that is not written with a library, and does what it should not.
func hostile(mode string) {
	answer := func(id json.RawMessage, result string) {
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", id, result)
	}
	schema, name, lists := `{"type":"object"}`, "work", 0
	if mode == "schema" {
		schema = `{"type":"object","properties":{"a":{"$ref":"#/$defs/absent"}}}`
	}
	if mode == "type" {
		schema = `{"type":"object","properties":{"a":{"type":7}}}`
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				ProtocolVersion string `json:"protocolVersion"`
				Name            string `json:"name"`
			} `json:"params"`
		}
		if json.Unmarshal(lines.Bytes(), &m) != nil {
			continue
		}
		switch m.Method {
		case "initialize":
			if mode == "mute" {
				continue
			}
			answer(m.ID, fmt.Sprintf(`{"protocolVersion":%q,"capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"h","version":"1"}}`, m.Params.ProtocolVersion))
		case "tools/list":
			if lists++; mode == "changes" && lists > 1 {
				name = "other"
			}
			if mode == "pages" {
				answer(m.ID, fmt.Sprintf(`{"tools":[{"name":"work%d","inputSchema":{"type":"object"}}],"nextCursor":"%d"}`, lists, lists))
				continue
			}
			answer(m.ID, fmt.Sprintf(`{"tools":[{"name":%q,"description":"works","inputSchema":%s}]}`, name, schema))
			if mode == "changes" {
				fmt.Println(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
			}
		case "tools/call":
			call(mode, m.ID, m.Params.Name == name, answer)
		default:
			if len(m.ID) > 0 && mode != "mute" {
				fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown method"}}`+"\n", m.ID)
			}
		}
	}
}

func call(mode string, id json.RawMessage, known bool, answer func(json.RawMessage, string)) {
	switch {
	case mode == "flood": // one line without an end
		fmt.Print(`{"jsonrpc":"2.0","id":`, string(id), `,"result":{"content":[{"type":"text","text":"`)
		for chunk := strings.Repeat("x", 1<<16); ; {
			if _, err := fmt.Print(chunk); err != nil {
				return
			}
		}
	case mode == "chatter": // lines without an end, and no answer
		for {
			if _, err := fmt.Println(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}`); err != nil {
				return
			}
		}
	case mode == "noise":
		fmt.Println("Listening. This is no JSON.")
	case mode == "half":
		fmt.Print(`{"jsonrpc":"2.0","id":`, string(id), `,"result":{"con`)
		os.Exit(0)
	case mode == "wrong":
		answer(id, `{"content":7}`)
	case mode == "silent":
	case !known:
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"unknown tool"}}`+"\n", id)
	default:
		answer(id, `{"content":[{"type":"text","text":"done"}]}`)
	}
}

// A server that misbehaves during a call is a ServerError within the time limit, and the next call
// has a server again.
func TestClient_OfHostileServers(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"flood", "chatter", "noise", "half", "wrong", "silent"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			s := program("hostile " + mode)
			s.Timeout = 5 * time.Second // a busy machine needs some of it to start the server
			c := open(t, s)
			tools, err := c.Tools(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for range 2 {
				_, err = tools[0].Call(t.Context(), tool.Input{Arguments: []byte(`{}`)})
				var failed *mcp.ServerError
				if !errors.As(err, &failed) || failed.Request != "tools/call work" {
					t.Errorf("error %v, want a ServerError", err)
				}
				if mode == "silent" && !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("error %v, want that of the time limit", err)
				}
			}
			runtime.ReadMemStats(&after)
			if grown := int64(after.HeapInuse) - int64(before.HeapInuse); grown > 512<<20 {
				t.Errorf("the heap has grown by %d MB", grown>>20)
			}
			if tools, err := c.Tools(t.Context()); err != nil || len(tools) != 1 {
				t.Errorf("got %d tools, %v after a failure", len(tools), err)
			}
		})
	}
}

func TestOpen_ServerThatNeverAnswers(t *testing.T) {
	t.Parallel()
	s := program("hostile mute")
	s.Timeout = time.Second
	var failed *mcp.ServerError
	if _, err := mcp.Open(t.Context(), s); !errors.As(err, &failed) || !errors.Is(err, context.DeadlineExceeded) || failed.Request != "initialize" {
		t.Errorf("error %v, want that of the time limit", err)
	}
}

func TestTools_OfHostileLists(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string]error{"schema": mcp.ErrConfig, "type": mcp.ErrConfig, "pages": nil} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			c := open(t, program("hostile "+mode))
			_, err := c.Tools(t.Context())
			if err == nil || want != nil && (!errors.Is(err, want) || !strings.Contains(err.Error(), `tool "work"`)) {
				t.Errorf("error %v, want %v that names the tool", err, want)
			}
			if want == nil && !strings.Contains(err.Error(), "more than 1000 pages") {
				t.Errorf("error %v, want the limit of pages", err)
			}
		})
	}
}

// A tool that the server no longer has is an error of the call, and Tools returns the new list.
func TestTools_ListThatChanges(t *testing.T) {
	t.Parallel()
	c := open(t, program("hostile changes"))
	old, err := c.Tools(t.Context())
	if err != nil || len(old) != 1 {
		t.Fatal(old, err)
	}
	fresh, err := c.Tools(t.Context())
	if err != nil || len(fresh) != 1 || fresh[0].Info().Name != "test_other" {
		t.Fatalf("got %v, %v, want the new list", fresh, err)
	}
	var failed *mcp.ServerError
	if _, err := old[0].Call(t.Context(), tool.Input{Arguments: []byte(`{}`)}); !errors.As(err, &failed) || !strings.Contains(err.Error(), "unknown tool") {
		t.Errorf("error %v, want that of a tool that is gone", err)
	}
	if out, err := fresh[0].Call(t.Context(), tool.Input{Arguments: []byte(`{}`)}); err != nil || !strings.Contains(fmt.Sprintf("%+v", out), "done") {
		t.Errorf("got %+v, %v", out, err)
	}
}
