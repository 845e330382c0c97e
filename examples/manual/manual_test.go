package manual_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/weftrun/weft/weftcli"
	"github.com/weftrun/weft/weftcli/stock"
)

// asWeft makes the test binary the command weft.
const asWeft = "WEFT_TEST_AS_WEFT"

func TestMain(m *testing.M) {
	if os.Getenv(asWeft) != "" {
		weftcli.Main(stock.Config())
	}
	os.Exit(m.Run())
}

// embeddings is a server with the protocol of OpenAI. It knows one meaning: texts about defects.
func embeddings(t *testing.T) string {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct{ Input []string }
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil || r.URL.Path != "/v1/embeddings" {
			http.Error(w, "no", http.StatusBadRequest)
			return
		}
		var data []map[string]any
		for _, text := range q.Input {
			v := []float64{1, 0}
			if strings.Contains(text, "broken") || strings.Contains(text, "drawn air") {
				v = []float64{0, 1}
			}
			data = append(data, map[string]any{"embedding": v})
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"data": data, "model": "m"})
	}))
	t.Cleanup(web.Close)
	return web.URL + "/v1"
}

func weft(t *testing.T, url string, args ...string) *exec.Cmd {
	return weftOn(t, "memory:", url, args...)
}

func weftOn(t *testing.T, store, url string, args ...string) *exec.Cmd {
	c := exec.CommandContext(t.Context(), os.Args[0], append(args, "--store", store)...)
	c.Env = append(os.Environ(), asWeft+"=1", "EMBEDDINGS_URL="+url)
	return c
}

func TestFiles_FindPages(t *testing.T) {
	url := embeddings(t)
	for _, test := range []struct{ file, question, want string }{
		{"manual.yaml", "How do I clean the boiler?", "page: pages/cleaning.md"},
		{"meaning.yaml", "It is broken", "page: pages/faults.md"},
	} {
		out, err := weft(t, url, "run", test.file, "--input", "question="+test.question).CombinedOutput()
		if err != nil || !strings.Contains(string(out), test.want) {
			t.Errorf("%s: got %s, %v, want %q", test.question, out, err, test.want)
		}
	}
	if out, err := weft(t, url, "test", "manual.yaml").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// serving starts a server and returns what sends it requests. The server ends with the test.
func serving(t *testing.T, c *exec.Cmd) (request func(method, path, body string) string, stop func()) {
	t.Helper()
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	t.Cleanup(stop)
	line, err := bufio.NewReader(out).ReadString('\n')
	fields := strings.Fields(line)
	if err != nil || len(fields) < 3 {
		t.Fatalf("got %q, %v, want the address", line, err)
	}
	return func(method, path, body string) string {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, fields[2]+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode >= 300 {
			t.Fatalf("%s %s: %s, %v\n%s", method, path, resp.Status, err, text)
		}
		return string(text)
	}, stop
}

// putNotes puts two items, of which one is about a defect.
func putNotes(request func(method, path, body string) string) {
	for key, text := range map[string]string{"a": "tea", "b": "the pump has drawn air"} {
		request("PUT", "/store/items", fmt.Sprintf(`{"namespace":["notes"],"key":%q,"value":{"text":%q}}`, key, text))
	}
}

func wantDefect(t *testing.T, request func(method, path, body string) string) {
	t.Helper()
	var found struct{ Items []struct{ Key string } }
	text := request("POST", "/store/items/search", `{"namespace_prefix":["notes"],"query":"broken","limit":1}`)
	if err := json.Unmarshal([]byte(text), &found); err != nil || len(found.Items) != 1 || found.Items[0].Key != "b" {
		t.Errorf("got %s, %v, want the item b", text, err)
	}
}

func TestServe_FindsItemsByMeaning(t *testing.T) {
	request, _ := serving(t, weft(t, embeddings(t), "serve", ".", "--embedder", "small", "--listen", "127.0.0.1:0"))
	putNotes(request)
	wantDefect(t, request)
}

// Items that were put without an embedder get their vectors later.
func TestReindex_ItemsAreFoundByMeaning(t *testing.T) {
	url, store := embeddings(t), "sqlite:"+filepath.Join(t.TempDir(), "weft.db")
	request, stop := serving(t, weftOn(t, store, url, "serve", ".", "--listen", "127.0.0.1:0"))
	putNotes(request)
	stop()
	for _, want := range []string{"made the vectors of 2 items\n", "made the vectors of 0 items\n"} {
		out, err := weftOn(t, store, url, "reindex", "notes", "--embedder", "small").CombinedOutput()
		if err != nil || string(out) != want {
			t.Errorf("got %s, %v, want %q", out, err, want)
		}
	}
	request, _ = serving(t, weftOn(t, store, url, "serve", ".", "--embedder", "small", "--listen", "127.0.0.1:0"))
	wantDefect(t, request)
}

// A command whose embedder fails fails too.
func TestReindex_OfAFailingEmbedderFails(t *testing.T) {
	store := "sqlite:" + filepath.Join(t.TempDir(), "weft.db")
	request, stop := serving(t, weftOn(t, store, "", "serve", "manual.yaml", "--listen", "127.0.0.1:0"))
	putNotes(request)
	stop()
	web := httptest.NewServer(http.NotFoundHandler())
	defer web.Close()
	out, err := weftOn(t, store, web.URL, "reindex", "--embedder", "small").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "after 0 items") || !strings.Contains(string(out), "404") {
		t.Errorf("got %s, %v, want the failure of the embedder", out, err)
	}
}

func TestServe_NamesAnEmbedderThatIsMissing(t *testing.T) {
	for name, want := range map[string]string{"large": `has no embedder "large"`, "small": "EMBEDDINGS_URL is not set"} {
		c := weft(t, "", "serve", "manual.yaml", "--embedder", name, "--listen", "127.0.0.1:0")
		if out, err := c.CombinedOutput(); err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: got %s, %v, want %q", name, out, err, want)
		}
	}
}
