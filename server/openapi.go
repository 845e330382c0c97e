package server

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// openAPI has what the document at /openapi.json does not take from the routes.
//
//go:embed openapi.json
var openAPI []byte

// The answers of endpoints that are not JSON, in place of the name of a schema.
const (
	noAnswer    = ""
	textAnswer  = "text/plain"
	pageAnswer  = "text/html"
	eventAnswer = "text/event-stream"
	bytesAnswer = "application/octet-stream"
)

// operations are what endpoints answer, by method and path: the name of a schema, and the statuses
// of failures beside those that follow from the path. An endpoint that is not here has no schema.
var operations = map[string]struct {
	answer   string
	failures []int
}{
	"GET /ok": {"Status", []int{422, 503}}, "GET /info": {"Info", nil}, "GET /metrics": {textAnswer, nil}, "GET /openapi.json": {"Object", nil}, "GET /docs": {pageAnswer, nil},

	"POST /assistants": {"Assistant", []int{404, 409}}, "POST /assistants/search": {"Assistants", nil}, "POST /assistants/count": {"Number", nil},
	"GET /assistants/{assistant_id}": {"Assistant", nil}, "PATCH /assistants/{assistant_id}": {"Assistant", nil}, "DELETE /assistants/{assistant_id}": {"IDs", nil},
	"GET /assistants/{assistant_id}/graph": {"Drawing", nil}, "GET /assistants/{assistant_id}/schemas": {"Object", nil},
	"POST /assistants/{assistant_id}/versions": {"Assistants", nil}, "POST /assistants/{assistant_id}/latest": {"Assistant", nil},

	"POST /threads": {"Thread", []int{409}}, "POST /threads/search": {"Threads", nil}, "POST /threads/count": {"Number", nil}, "POST /threads/prune": {"Pruned", nil},
	"GET /threads/{thread_id}": {"Thread", nil}, "PATCH /threads/{thread_id}": {"Thread", nil}, "DELETE /threads/{thread_id}": {noAnswer, nil},
	"POST /threads/{thread_id}/copy": {"Thread", []int{409}}, "GET /threads/{thread_id}/storage": {"Object", nil},
	"POST /threads/{thread_id}/blobs": {"Blob", []int{429}}, "GET /threads/{thread_id}/blobs/{hash}": {bytesAnswer, nil},
	"GET /threads/{thread_id}/state": {"State", nil}, "GET /threads/{thread_id}/state/{checkpoint_id}": {"State", nil}, "POST /threads/{thread_id}/state/checkpoint": {"State", nil},
	"POST /threads/{thread_id}/state": {"Updated", []int{409}}, "PATCH /threads/{thread_id}/state": {"Updated", []int{409}},
	"GET /threads/{thread_id}/history": {"States", nil}, "POST /threads/{thread_id}/history": {"States", nil},
	"POST /threads/{thread_id}/commands": {"Reply", nil}, "POST /threads/{thread_id}/stream/events": {eventAnswer, []int{429}},
	"GET /threads/{thread_id}/stream": {eventAnswer, []int{429}}, "POST /threads/{thread_id}/stream": {eventAnswer, []int{429}},
	"GET /threads/{thread_id}/stream/events": {noAnswer, []int{401, 426, 429, 503}}, "GET /runs/{run_id}/{view}": {"Any", []int{429}},

	"POST /threads/{thread_id}/runs": {"Run", []int{409, 429}}, "POST /threads/{thread_id}/runs/wait": {"Any", []int{409, 429}},
	"POST /threads/{thread_id}/runs/stream": {eventAnswer, []int{409, 429}}, "GET /threads/{thread_id}/runs": {"Runs", nil},
	"GET /threads/{thread_id}/runs/{run_id}": {"Run", nil}, "DELETE /threads/{thread_id}/runs/{run_id}": {noAnswer, []int{409}},
	"GET /threads/{thread_id}/runs/{run_id}/join": {"Any", []int{429}}, "GET /threads/{thread_id}/runs/{run_id}/stream": {eventAnswer, []int{429}},
	"POST /threads/{thread_id}/runs/{run_id}/cancel": {noAnswer, nil},
	"POST /runs": {"Run", []int{404, 429}}, "POST /runs/batch": {"Runs", []int{404, 429}}, "POST /runs/cancel": {noAnswer, []int{404}},
	"POST /runs/wait": {"Any", []int{404, 429}}, "POST /runs/stream": {eventAnswer, []int{404, 429}}, "POST /runs/{run_id}/cancel": {noAnswer, nil},

	"POST /threads/{thread_id}/runs/crons": {"Cron", nil}, "POST /runs/crons": {"Cron", []int{404}}, "POST /runs/crons/search": {"Crons", nil},
	"POST /runs/crons/count": {"Number", nil}, "PATCH /runs/crons/{cron_id}": {"Cron", nil}, "DELETE /runs/crons/{cron_id}": {noAnswer, nil},

	"PUT /store/items": {noAnswer, []int{400}}, "GET /store/items": {"Item", []int{400, 422}}, "DELETE /store/items": {noAnswer, []int{400}},
	"POST /store/items/search": {"Items", nil}, "POST /store/namespaces": {"Namespaces", nil},

	"POST /mcp":                {eventAnswer, []int{429}},
	"POST /a2a/{assistant_id}": {"Object", []int{429}}, "GET /.well-known/agent-card.json": {"Object", []int{404}},
	"POST /agui/{assistant_id}": {eventAnswer, []int{409, 429}}, "POST /ai-sdk/{assistant_id}": {eventAnswer, []int{409, 429}},
	"GET /ai-sdk/{assistant_id}/{chat_id}/stream": {eventAnswer, []int{429}},
	"POST /v1/chat/completions":                   {"Completion", []int{404, 409, 429, 500}}, "GET /v1/models": {"Models", nil}, "GET /v1/models/{assistant_id}": {"Model", nil},
}

// failureSchemas are the schemas of failures that are no Error, by method, path and status.
var failureSchemas = map[string]string{
	"GET /ok 503": "Status", "POST /threads/{thread_id}/commands 400": "Object",
}

// never are the statuses of failures that follow from a path, and that its endpoint does not have.
var never = map[string][]int{
	"GET /metrics": {403, 503}, "POST /ui/{name}": {403, 503}, "GET /ui/{name}/{file}": {422}, "POST /mcp": {403}, "GET /v1/models/{assistant_id}": {422},
	"POST /threads/{thread_id}/copy":                {404}, // it is a 409, as clients expect it
	"POST /threads/{thread_id}/commands":            {415},
	"POST /threads/{thread_id}/stream":              {415},
	"POST /threads/{thread_id}/stream/events":       {415},
	"GET /threads/{thread_id}/stream/events":        {404, 422}, // a socket is closed with a code
	"GET /threads/{thread_id}/runs/{run_id}/stream": {404},      // it is an event
}

// failures returns the statuses of failures of a route, in order.
func (r route) failures(beside []int) []int {
	all := slices.Clone(beside)
	if !r.open {
		all = append(all, http.StatusUnauthorized, http.StatusForbidden, http.StatusServiceUnavailable)
	}
	if strings.Contains(r.path, "{") {
		all = append(all, http.StatusNotFound, http.StatusUnprocessableEntity)
	}
	if requests[r.method+" "+r.path] != "" {
		all = append(all, http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity)
	}
	never := never[r.method+" "+r.path]
	all = slices.DeleteFunc(all, func(status int) bool { return slices.Contains(never, status) })
	slices.Sort(all)
	return slices.Compact(all)
}

// operation describes a route.
func (r route) operation() map[string]any {
	op, known := operations[r.method+" "+r.path]
	content := func(mediaType, schema string) map[string]any {
		return map[string]any{mediaType: map[string]any{"schema": map[string]any{"$ref": "#/components/schemas/" + schema}}}
	}
	done := map[string]any{"description": "done"}
	switch {
	case !known, op.answer == noAnswer:
	case strings.Contains(op.answer, "/"):
		done["content"] = map[string]any{op.answer: map[string]any{}}
	default:
		done["content"] = content("application/json", op.answer)
	}
	answers := map[string]any{"2XX": done}
	for _, status := range r.failures(op.failures) {
		text := strconv.Itoa(status)
		schema := cmp.Or(failureSchemas[r.method+" "+r.path+" "+text], "Error")
		answers[text] = map[string]any{"description": http.StatusText(status), "content": content("application/json", schema)}
	}
	parameters := []any{}
	for part := range strings.SplitSeq(r.path, "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			parameters = append(parameters, map[string]any{
				"name": strings.TrimSuffix(name, "}"), "in": "path", "required": true, "schema": map[string]any{"type": "string"},
			})
		}
	}
	described := map[string]any{"responses": answers, "parameters": parameters}
	if !r.open {
		described["security"] = []any{map[string]any{"key": []string{}}, map[string]any{"bearer": []string{}}, map[string]any{}}
	}
	switch body := requests[r.method+" "+r.path]; body {
	case "":
	case "Bytes":
		described["requestBody"] = map[string]any{"content": content("*/*", body)}
	default:
		described["requestBody"] = map[string]any{"content": content("application/json", body)}
	}
	return described
}

// describe returns the document of the routes.
func describe(version string) ([]byte, error) {
	var d struct {
		OpenAPI    string                    `json:"openapi"`
		Info       map[string]string         `json:"info"`
		Paths      map[string]map[string]any `json:"paths"`
		Components json.RawMessage           `json:"components"`
	}
	if err := json.Unmarshal(openAPI, &d); err != nil {
		return nil, err
	}
	d.Info["version"], d.Paths = version, map[string]map[string]any{}
	for _, r := range append(slices.Clip(routes), describedRoutes...) {
		if strings.HasSuffix(r.path, "{$}") {
			continue // another form of a path
		}
		if d.Paths[r.path] == nil {
			d.Paths[r.path] = map[string]any{}
		}
		d.Paths[r.path][strings.ToLower(r.method)] = r.operation()
	}
	return encode(d)
}

// describedRoutes are the endpoints that are made of the routes.
var describedRoutes = []route{{method: http.MethodGet, path: "/openapi.json", open: true}, {method: http.MethodGet, path: "/docs", open: true}}

func getDocument(c *call) error {
	data, err := describe(c.server.config.Version)
	if err != nil {
		return err
	}
	return c.write(http.StatusOK, "application/json", data)
}
