package server

import (
	"maps"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/weftrun/weft/server/agui"
	"github.com/weftrun/weft/server/aisdk"
	"github.com/weftrun/weft/server/completions"
	"github.com/weftrun/weft/server/wire"
)

// fieldNames returns the names of the fields that a body may have.
func fieldNames(t reflect.Type) (names []string) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			names = append(names, fieldNames(f.Type)...)
		case name != "" && name != "-":
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func TestOpenAPI_RequestsHaveTheirFields(t *testing.T) {
	schemas := gjson.ParseBytes(openAPI).Get("components.schemas")
	for name, body := range map[string]any{
		"AssistantRequest": assistantRequest{}, "AssistantSearch": assistantSearch{}, "ThreadRequest": threadRequest{}, "ThreadSearch": threadSearch{},
		"StateRequest": stateRequest{}, "HistoryRequest": historyRequest{}, "RunRequest": runRequest{}, "CancelRequest": cancelRequest{},
		"CronRequest": cronRequest{}, "CronSearch": cronSearch{}, "CheckpointRequest": checkpointInput{}, "Command": runCommand{}, "Config": wire.Config{},
		"SubscriptionRequest": wire.Subscription{}, "AGUIRequest": agui.Input{}, "ChatRequest": aisdk.Request{},
		"CompletionRequest": completions.Request{},
	} {
		described := slices.Sorted(maps.Keys(schemas.Get(name + ".properties").Map()))
		if want := fieldNames(reflect.TypeOf(body)); !slices.Equal(described, want) {
			t.Errorf("the schema %s has %v, want %v", name, described, want)
		}
	}
}

func TestOpenAPI_EveryBodyHasASchema(t *testing.T) {
	schemas := gjson.ParseBytes(openAPI).Get("components.schemas").Map()
	known := map[string]bool{}
	for _, r := range routes {
		known[r.method+" "+r.path] = true
	}
	for name, schema := range requests {
		if !known[name] || !schemas[schema].Exists() {
			t.Errorf("%s has the schema %s: the route exists: %v", name, schema, known[name])
		}
	}
	without := []string{"/threads/{thread_id}/copy", "/threads/{thread_id}/runs/{run_id}/cancel", "/runs/{run_id}/cancel", "/mcp/{$}"}
	for _, r := range routes {
		if name := r.method + " " + r.path; r.method != "GET" && r.method != "DELETE" && requests[name] == "" && !slices.Contains(without, r.path) {
			t.Errorf("%s has no schema of its body", name)
		}
	}
}

func TestDocs_NamesEveryEndpoint(t *testing.T) {
	s := &Server{}
	w := httptest.NewRecorder()
	if err := getDocs(&call{Request: httptest.NewRequest("GET", "/docs", nil), w: w, server: s}); err != nil {
		t.Fatal(err)
	}
	page := w.Body.String()
	for _, r := range routes {
		if !strings.HasSuffix(r.path, "{$}") && !strings.Contains(page, "</b>"+r.path+"</summary>") {
			t.Errorf("the page has no %s", r.path)
		}
	}
	for _, foreign := range []string{"<script", "src=", "http://", "https://", "<link"} {
		if strings.Contains(page, foreign) {
			t.Errorf("the page has %q", foreign)
		}
	}
}
