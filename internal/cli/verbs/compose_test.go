//go:build unix

package verbs_test

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/weftrun/weft/internal/servertest"
)

// TestCompose_RunsItsCommands runs the commands of the compose file with a Redis, and the example's
// workflow.
func TestCompose_RunsItsCommands(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../examples/serve/compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	flow, err := os.ReadFile("../../../examples/serve/greet.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p := newPlace(t)
	if err := os.Mkdir(p.path("flows"), 0o700); err != nil {
		t.Fatal(err)
	}
	p.write("flows/greet.yaml", string(flow))
	store := servertest.Redis(t, "--appendonly", "yes")
	start := func(verb string) *daemon {
		found := regexp.MustCompile(`command: (\["` + verb + `".*\])`).FindSubmatch(text)
		if found == nil {
			t.Fatalf("the file does not run %s", verb)
		}
		var args []string
		if err := json.Unmarshal(found[1], &args); err != nil {
			t.Fatal(err)
		}
		args[slices.Index(args, "/flows")] = "flows"
		if i := slices.Index(args, "0.0.0.0:2024"); i > 0 {
			args[i] = "127.0.0.1:0"
		}
		cmd := p.command(args...)
		// The SHA-256 of open-sesame.
		cmd.Env = append(cmd.Env, "WEFT_STORE="+store, "WEFT_KEYS=ada d7ecdf25eaf3deba0f2628771dbdd22d4138ab6cf38f91ed02a2ca0dec7c8ab7")
		return p.startCommand(cmd, func() {})
	}
	d := start("serve")
	start("worker")
	if status, body := d.call("POST", "/runs/wait", `{"assistant_id":"greet","input":{"who":"Ada"}}`); status != 401 {
		t.Errorf("without a key: status %d, %s", status, body)
	}
	r, err := http.NewRequestWithContext(t.Context(), "POST", d.url+"/runs/wait", strings.NewReader(`{"assistant_id":"greet","input":{"who":"Ada"}}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Api-Key", "open-sesame")
	res, err := httpClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || gjson.GetBytes(body, "text").String() != "Hello, Ada." {
		t.Errorf("with the key: %s, %v", body, err)
	}
}
