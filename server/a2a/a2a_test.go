package a2a_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
	"go.uber.org/goleak"

	"github.com/weftrun/weft/internal/chattest"
	"github.com/weftrun/weft/internal/sdktest"
	"github.com/weftrun/weft/server"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("internal/poll.runtime_pollWait"))
}

// Requirement: Public clients work unmodified
func TestSDK_JavaScript(t *testing.T) {
	web := httptest.NewServer(chattest.Start(t))
	defer web.Close()
	sdktest.NodeWith(t, []string{"@a2a-js/sdk@1.3.0"}, "testdata/client.mjs", web.URL)
}

// Requirement: Public clients work unmodified
func TestSDK_Python(t *testing.T) {
	web := httptest.NewServer(chattest.Start(t))
	defer web.Close()
	sdktest.PythonWith(t, []string{"a2a-sdk[http-server]==0.3.26"}, "testdata/client.py", web.URL)
}

// post sends a body, and returns the status and the answer.
func post(t *testing.T, url, key, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "POST", url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Api-Key", key)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(data)
}

func TestRequests_AreChecked(t *testing.T) {
	web := httptest.NewServer(chattest.Start(t))
	defer web.Close()
	defer http.DefaultClient.CloseIdleConnections()
	rpc := func(method, params string) string {
		return `{"jsonrpc":"2.0","id":7,"method":"` + method + `","params":` + params + `}`
	}
	message := func(parts string) string { return rpc("message/send", `{"message":{"parts":[`+parts+`]}}`) }
	const task = "01a20e45-40e4-7ccd-8821-3017ed30fd26"
	for _, tt := range []struct {
		name, path, body string
		status           int
		code             int64
	}{
		{"no JSON", "talk", "{", 200, -32700},
		{"a batch", "talk", "[]", 200, -32600},
		{"an id that is an object", "talk", `{"jsonrpc":"2.0","id":{},"method":"x"}`, 200, -32600},
		{"another version", "talk", `{"jsonrpc":"1.0","id":1,"method":"x"}`, 200, -32600},
		{"another method", "talk", rpc("message/shout", "{}"), 200, -32601},
		{"push notifications", "talk", rpc("tasks/pushNotificationConfig/set", "{}"), 200, -32003},
		{"params of another type", "talk", rpc("message/send", "3"), 200, -32602},
		{"a negative history", "talk", rpc("tasks/get", `{"id":"x","historyLength":-1}`), 200, -32602},
		{"no parts", "talk", message(""), 200, -32602},
		{"a file", "talk", message(`{"kind":"file","file":{"uri":"file:///etc/passwd","mimeType":"text/plain"}}`), 200, -32005},
		{"a text for data", "double", message(`{"text":"x"}`), 200, -32005},
		{"data of another type", "double", message(`{"data":3}`), 200, -32602},
		{"a context that is no UUID", "talk", rpc("message/send", `{"message":{"contextId":"../x","parts":[{"text":"x"}]}}`), 200, -32602},
		{"an unknown task", "talk", rpc("tasks/get", `{"id":"`+task+":"+task+`"}`), 200, -32001},
		{"an id that is no task", "talk", rpc("GetTask", `{"id":"x"}`), 200, -32001},
		{"an unknown assistant", "other", rpc("tasks/get", `{"id":"x"}`), 404, 0},
	} {
		status, text := post(t, web.URL+"/a2a/"+tt.path, "", tt.body)
		if status != tt.status || gjson.Get(text, "error.code").Int() != tt.code {
			t.Errorf("%s: status %d, %s; want %d and the code %d", tt.name, status, text, tt.status, tt.code)
		}
	}
}

func TestTasks_BelongToTheirOwner(t *testing.T) {
	web := httptest.NewServer(chattest.Start(t, func(c *server.Config) { c.Auth = chattest.Keys() }))
	defer web.Close()
	defer http.DefaultClient.CloseIdleConnections()
	const hello = `{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"messageId":"m","parts":[{"kind":"text","text":"hello"}]}}}`
	url := web.URL + "/a2a/talk"
	if status, text := post(t, url, "another", hello); status != 401 {
		t.Errorf("without a key: status %d, %s", status, text)
	}
	_, text := post(t, url, "key of ada", hello)
	if got := gjson.Get(text, "result.status.state").String(); got != "completed" {
		t.Fatalf("the task is %s", text)
	}
	get := `{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":"` + gjson.Get(text, "result.id").String() + `"}}`
	if _, text := post(t, url, "key of ada", get); gjson.Get(text, "result.artifacts.0.parts.0.text").String() != "Hello, world." {
		t.Errorf("the owner gets %s", text)
	}
	for name, body := range map[string]string{
		"reads": get, "writes": strings.Replace(hello, `"messageId"`, `"contextId":"`+gjson.Get(text, "result.contextId").String()+`","messageId"`, 1),
	} {
		if _, text := post(t, url, "key of bob", body); gjson.Get(text, "error.code").Int() != -32001 {
			t.Errorf("another caller %s the task: %s", name, text)
		}
	}
}
