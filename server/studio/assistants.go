package studio

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	h "github.com/weftrun/weft/internal/markup"
)

// assistant is a named configuration of a graph, or a version of that configuration.
type assistant struct {
	ID          string          `json:"assistant_id"`
	Graph       string          `json:"graph_id"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Version     int             `json:"version"`
	Config      json.RawMessage `json:"config"`
	Context     json.RawMessage `json:"context"`
	Metadata    json.RawMessage `json:"metadata"`
	Updated     time.Time       `json:"updated_at"`
}

// settings returns the names and values of what may differ between versions.
func (a assistant) settings() [][2]string {
	return [][2]string{
		{"name", a.Name}, {"graph", a.Graph}, {"description", a.Description}, {"context", pretty(a.Context)}, {"config", pretty(a.Config)},
		{"metadata", pretty(a.Metadata)},
	}
}

// settingText renders a value of a setting: JSON on several lines, or text.
func settingText(text string) h.Part {
	if !strings.HasPrefix(text, "{") {
		return h.Text(text)
	}
	return h.Pre(h.Tabindex("0"), h.Text(text))
}

func (r *request) assistantPath(id string) string { return r.base + escapedPath("assistants", id) }

// listAssistants renders a page of the list of assistants.
func listAssistants(r *request) (view, error) {
	offset, err := r.number("offset", 1<<31)
	if err != nil {
		return view{}, err
	}
	query := map[string]any{"limit": more, "offset": offset}
	if id := r.URL.Query().Get("graph"); id != "" {
		query["graph_id"] = id
	}
	var found []assistant
	if err := r.source.Do(r.Context(), http.MethodPost, "/assistants/search", query, &found); err != nil {
		return view{}, err
	}
	graphs, err := r.source.Graphs(r.Context())
	if err != nil {
		return view{}, err
	}
	list, another := cutPage(found)
	var body h.Part = h.P(h.Text("No assistants."))
	if len(list) > 0 {
		body = scroll("Table of assistants", h.Table(heads("Name", "Graph", "Version", "Updated", "Id"), h.Tbody(h.Each(list, func(a assistant) h.Part {
			return h.Tr(h.Th(h.Scope("row"), link(r.assistantPath(a.ID), a.Name)), h.Td(link(r.graphPath(a.Graph), a.Graph)),
				h.Td(h.Class("number"), h.Text(fmt.Sprint(a.Version))), h.Td(moment(a.Updated)), h.Td(h.Code(h.Text(a.ID))))
		}))))
	}
	options := h.Each(graphs, func(g Graph) h.Part { return h.Option(h.Value(g.ID), h.Text(g.ID)) })
	return view{"/assistants", "Assistants", h.Parts{
		muted("An assistant is a graph with a name and settings. Each change creates a version."),
		body, r.around("/assistants", offset, len(list), another), r.mention(http.MethodPost, "/assistants/search", query),
		r.writeForm("New assistant", r.base+"/assistants", h.Div(h.Class("fields"), textField("Name", "name", "", true),
			h.Label(h.Text("Graph "), h.Select(h.Name("graph"), options)), textField("Description", "description", "", false),
			jsonField("Context", "context", ""), jsonField("Configuration", "config", "")), send("main", "Create the assistant")),
	}}, nil
}

// showAssistant renders the page of an assistant, with its versions.
func showAssistant(r *request) (view, error) {
	at := "/assistants/" + url.PathEscape(r.PathValue("id"))
	var a assistant
	if err := r.source.Do(r.Context(), http.MethodGet, at, nil, &a); err != nil {
		return view{}, err
	}
	offset, err := r.number("offset", 1<<31)
	if err != nil {
		return view{}, err
	}
	var found []assistant
	if err := r.source.Do(r.Context(), http.MethodPost, at+"/versions", map[string]any{"limit": more, "offset": offset}, &found); err != nil {
		return view{}, err
	}
	versions, another := cutPage(found)
	compared, err := r.compared(at, a, versions)
	if err != nil {
		return view{}, err
	}
	var facts h.Parts
	for _, s := range a.settings() {
		facts = append(facts, h.If(s[1] != "", fact(s[0], settingText(s[1]))))
	}
	path := r.assistantPath(a.ID)
	return view{"/assistants", "Assistant " + a.Name, h.Parts{
		h.P(h.Text(fmt.Sprintf("Version %d, for the graph ", a.Version)), link(r.graphPath(a.Graph), a.Graph), h.Text(" · updated "), moment(a.Updated)),
		h.If(r.write, h.P(h.A(h.Class("button", "main"), h.Href(r.graphPath(a.Graph)+"/run?assistant="+url.QueryEscape(a.ID)), h.Text("Run")))),
		section("settings", "Settings", factsTable(facts), r.mention(http.MethodGet, at, nil)),
		section("versions", "Versions", scroll("Table of versions", h.Table(heads("Version", "Name", "Updated", "Changes", "Use"), h.Tbody(h.Each(versions, func(v assistant) h.Part {
			return h.Tr(h.If(v.Version == a.Version, h.Aria("current", "true")), h.Td(h.Class("number"), h.Text(fmt.Sprint(v.Version))), h.Td(h.Text(v.Name)), h.Td(moment(v.Updated)),
				h.Td(h.If(v.Version > 1, link(fmt.Sprintf("%s?from=%d&to=%d", path, v.Version-1, v.Version), "Show changes"))),
				h.Td(h.If(r.write && v.Version != a.Version, h.Form(h.Method("post"), h.Action(path+"/latest"), hidden("version", fmt.Sprint(v.Version)), h.Button(h.Text(fmt.Sprintf("Use version %d", v.Version)))))))
		})))), r.around(escapedPath("assistants", a.ID), offset, len(versions), another)),
		compared,
		r.writeForm("Edit the assistant", path, h.Div(h.Class("fields"), textField("Name", "name", a.Name, true), textField("Description", "description", a.Description, false),
			jsonField("Context", "context", pretty(a.Context)), jsonField("Configuration", "config", pretty(a.Config))), send("main", "Save as a new version")),
		r.writeForm("Delete", path+"/delete", h.P(h.Text("Removes the assistant with its versions. Its threads are not deleted.")),
			h.Label(h.Text("Type its name to confirm "), h.Input(h.Name("name"), h.Autocomplete("off"), h.Required(true))), send("danger", "Delete")),
	}}, nil
}

// compared renders how the versions ?from= and ?to= differ. The second one is by default the
// current version. Without the first one there is nothing to render.
func (r *request) compared(at string, a assistant, versions []assistant) (h.Part, error) {
	from, err := r.number("from", 1<<31)
	if err != nil || from == 0 {
		return nil, err
	}
	to, err := r.number("to", 1<<31)
	if err != nil {
		return nil, err
	}
	if to == 0 {
		to = uint64(a.Version)
	}
	old, err := r.version(at, from, versions)
	if err != nil {
		return nil, err
	}
	now, err := r.version(at, to, versions)
	if err != nil {
		return nil, err
	}
	before, after := old.settings(), now.settings()
	var rows h.Parts
	for i := range before {
		if before[i][1] != after[i][1] {
			rows = append(rows, h.Tr(h.Th(h.Scope("row"), h.Text(before[i][0])), h.Td(h.Class("wide"), h.Pre(h.Tabindex("0"), h.Text(before[i][1]))), h.Td(h.Class("wide"), h.Pre(h.Tabindex("0"), h.Text(after[i][1])))))
		}
	}
	table := muted("No setting differs.")
	if len(rows) > 0 {
		table = scroll("Table of changes", h.Table(h.Class("changes"), heads("Setting", fmt.Sprintf("Version %d", from), fmt.Sprintf("Version %d", to)), h.Tbody(rows)))
	}
	return section("compared", fmt.Sprintf("From version %d to %d", from, to), table), nil
}

// version returns version n, from page or else from the whole list.
func (r *request) version(at string, n uint64, page []assistant) (assistant, error) {
	is := func(v assistant) bool { return uint64(v.Version) == n }
	for offset := 0; ; offset += recordsPage {
		if i := slices.IndexFunc(page, is); i >= 0 {
			return page[i], nil
		}
		page = nil
		if err := r.source.Do(r.Context(), http.MethodPost, at+"/versions", map[string]any{"limit": recordsPage, "offset": offset}, &page); err != nil {
			return assistant{}, err
		}
		if len(page) == 0 {
			return assistant{}, &requestError{http.StatusNotFound, fmt.Sprintf("the assistant has no version %d", n)}
		}
	}
}

// formSettings returns the settings in the submitted form.
func (r *request) formSettings() (map[string]any, error) {
	body := map[string]any{"name": r.PostForm.Get("name"), "description": r.PostForm.Get("description")}
	for _, name := range []string{"context", "config"} {
		value, err := r.object(name)
		if err != nil {
			return nil, err
		}
		if body[name] = value; value == nil {
			body[name] = struct{}{}
		}
	}
	return body, nil
}

func createAssistant(r *request) (view, string, error) {
	body, err := r.formSettings()
	if err != nil {
		return view{}, "", err
	}
	body["graph_id"] = r.PostForm.Get("graph")
	var made assistant
	err = r.source.Do(r.Context(), http.MethodPost, "/assistants", body, &made)
	return view{}, r.assistantPath(made.ID), err
}

func changeAssistant(r *request) (view, string, error) {
	body, err := r.formSettings()
	if err != nil {
		return view{}, "", err
	}
	id := r.PathValue("id")
	return view{}, r.assistantPath(id), r.source.Do(r.Context(), http.MethodPatch, "/assistants/"+url.PathEscape(id), body, nil)
}

func useVersion(r *request) (view, string, error) {
	id := r.PathValue("id")
	var n int
	if _, err := fmt.Sscanf(r.PostForm.Get("version"), "%d", &n); err != nil {
		return view{}, "", &requestError{http.StatusBadRequest, fmt.Sprintf("version must be a number (got %.100q)", r.PostForm.Get("version"))}
	}
	return view{}, r.assistantPath(id), r.source.Do(r.Context(), http.MethodPost, "/assistants/"+url.PathEscape(id)+"/latest", map[string]any{"version": n}, nil)
}

func deleteAssistant(r *request) (view, string, error) {
	at := "/assistants/" + url.PathEscape(r.PathValue("id"))
	var a assistant
	if err := r.source.Do(r.Context(), http.MethodGet, at, nil, &a); err != nil {
		return view{}, "", err
	}
	if typed := strings.TrimSpace(r.PostForm.Get("name")); typed != a.Name {
		return view{}, "", &requestError{http.StatusUnprocessableEntity, fmt.Sprintf("type the assistant's name to confirm (got %.100q)", typed)}
	}
	return view{}, r.base + "/assistants", r.source.Do(r.Context(), http.MethodDelete, at, nil, nil)
}
