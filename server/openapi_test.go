package server_test

import (
	"encoding/json"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/tidwall/gjson"

	"github.com/weftrun/weft/checkpoint"
)

// documented is the document at /openapi.json, with the schemas of its answers.
type documented struct {
	paths   gjson.Result
	schemas map[string]*jsonschema.Resolved
}

var (
	readOnce sync.Once
	theOne   documented
	errRead  error
)

// readDocument reads the document once for all tests.
func readDocument(t testing.TB) (documented, error) {
	readOnce.Do(func() { theOne, errRead = readNow(t) })
	return theOne, errRead
}

func readNow(t testing.TB) (documented, error) {
	d := documented{schemas: map[string]*jsonschema.Resolved{}}
	w := httptest.NewRecorder()
	newServer(t, &checkpoint.Memory{}).ServeHTTP(w, httptest.NewRequest("GET", "/openapi.json", nil))
	d.paths = gjson.Get(w.Body.String(), "paths")
	all := gjson.Get(w.Body.String(), "components.schemas")
	for name := range all.Map() {
		text := `{"$ref":"#/$defs/` + name + `","$defs":` + strings.ReplaceAll(all.Raw, "#/components/schemas/", "#/$defs/") + `}`
		var s jsonschema.Schema
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			return d, err
		}
		resolved, err := s.Resolve(nil)
		if err != nil {
			return d, err
		}
		d.schemas[name] = resolved
	}
	return d, nil
}

// fits reports whether a path is one of a pattern such as /threads/{thread_id}.
func fits(path, pattern string) bool {
	parts, of := strings.Split(path, "/"), strings.Split(pattern, "/")
	if len(parts) != len(of) {
		return false
	}
	for i := range of {
		if parts[i] != of[i] && !strings.HasPrefix(of[i], "{") {
			return false
		}
	}
	return true
}

// find returns the operation of a request, that with the fewest parameters.
func (d documented) find(method, path string) (operation gjson.Result) {
	best := 100
	d.paths.ForEach(func(pattern, methods gjson.Result) bool {
		o := methods.Get(strings.ToLower(method))
		if n := strings.Count(pattern.String(), "{"); o.Exists() && n < best && fits(path, pattern.String()) {
			operation, best = o, n
		}
		return true
	})
	return operation
}

// checkDocumented compares an answer with the document.
func checkDocumented(t testing.TB, method, path string, w *httptest.ResponseRecorder) {
	t.Helper()
	d, err := readDocument(t)
	if err != nil {
		t.Fatal(err)
	}
	path, _, _ = strings.Cut(path, "?")
	op := d.find(method, path)
	if !op.Exists() {
		return // no endpoint of the server
	}
	status := strconv.Itoa(w.Code)
	if w.Code < 300 {
		status = "2XX"
	}
	answer := op.Get("responses." + status)
	if !answer.Exists() {
		t.Errorf("/openapi.json: %s %s has no status %d", method, path, w.Code)
		return
	}
	ref := answer.Get(`content.application/json.schema.$ref`).String()
	mediaType, _, _ := strings.Cut(w.Header().Get("Content-Type"), ";")
	if ref == "" || mediaType != "application/json" {
		return
	}
	var v any
	name := ref[strings.LastIndex(ref, "/")+1:]
	if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil {
		t.Errorf("%s %s: %v", method, path, err)
	} else if err := d.schemas[name].Validate(v); err != nil {
		t.Errorf("/openapi.json: %s %s with status %d is no %s: %v\n%s", method, path, w.Code, name, err, w.Body)
	}
}

func TestOpenAPI_HasEveryEndpoint(t *testing.T) {
	d, err := readDocument(t)
	if err != nil {
		t.Fatal(err)
	}
	for _, request := range []string{"GET /ok", "POST /threads/x/runs/wait", "GET /threads/x/runs/y", "DELETE /store/items"} {
		method, path, _ := strings.Cut(request, " ")
		if o := d.find(method, path); !o.Get("responses.2XX").Exists() {
			t.Errorf("the document has no %s", request)
		}
	}
	if d.find("GET", "/nowhere").Exists() || d.find("PUT", "/threads").Exists() {
		t.Error("the document has endpoints that do not exist")
	}
	c := newClient(t, newServer(t, &checkpoint.Memory{}))
	c.do(step{request: "GET /openapi.json", status: 200, want: "openapi=3.1.0\ncomponents.securitySchemes.key.name=X-Api-Key"})
}
