package studio

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	h "github.com/weftrun/weft/internal/markup"
)

// item is a value of the store, which runs share.
type item struct {
	Namespace []string        `json:"namespace"`
	Key       string          `json:"key"`
	Value     json.RawMessage `json:"value"`
	Created   time.Time       `json:"created_at"`
	Updated   time.Time       `json:"updated_at"`
}

// labels returns the labels of a namespace, which dots separate.
func labels(text string) []string {
	if text == "" {
		return []string{}
	}
	return strings.Split(text, ".")
}

func (r *request) itemPath(i item) string {
	return r.base + "/store/item?" + url.Values{"ns": {strings.Join(i.Namespace, ".")}, "key": {i.Key}}.Encode()
}

// namespacesPage is how many namespaces a page lists.
const namespacesPage = 100

// listItems is a page of the items below a namespace, with the namespaces.
func listItems(r *request) (view, error) {
	offset, err := r.number("offset", 1<<31)
	if err != nil {
		return view{}, err
	}
	prefix, text := r.URL.Query().Get("ns"), r.URL.Query().Get("q")
	query := map[string]any{"namespace_prefix": labels(prefix), "limit": more, "offset": offset}
	if text != "" {
		query["query"] = text
	}
	var items struct {
		Items []item `json:"items"`
	}
	if err := r.source.Do(r.Context(), http.MethodPost, "/store/items/search", query, &items); err != nil {
		return view{}, err
	}
	var spaces struct {
		Namespaces [][]string `json:"namespaces"`
	}
	if err := r.source.Do(r.Context(), http.MethodPost, "/store/namespaces", map[string]any{"prefix": labels(prefix), "limit": namespacesPage}, &spaces); err != nil {
		return view{}, err
	}
	list, another := cutPage(items.Items)
	var body h.Part = h.P(h.Text("There is no item here. A node puts items with the memory of the store."))
	if len(list) > 0 {
		body = scroll("Table of items", h.Table(heads("Namespace", "Key", "Value", "Updated"), h.Tbody(h.Each(list, func(i item) h.Part {
			return h.Tr(h.Td(link(r.with("/store", "ns", strings.Join(i.Namespace, "."), "offset", ""), strings.Join(i.Namespace, "."))), h.Th(h.Scope("row"), link(r.itemPath(i), i.Key)),
				h.Td(h.Class("wide"), fieldOf("", i.Value).value()), h.Td(moment(i.Updated)))
		}))))
	}
	return view{"/store", "Store", h.Parts{
		muted("The store has what runs remember beyond their threads: items below namespaces."),
		h.Form(h.Class("filters"), h.Method("get"), h.Action(r.base+"/store"), textField("Namespace", "ns", prefix, false), textField("Text", "q", text, false), h.Button(h.Text("Show"))),
		h.If(len(spaces.Namespaces) > 0, h.Nav(h.Class("filters"), h.Aria("label", "Namespaces"), h.Each(spaces.Namespaces, func(ns []string) h.Part {
			return link(r.with("/store", "ns", strings.Join(ns, "."), "offset", ""), strings.Join(ns, "."))
		}), h.If(prefix != "", link(r.with("/store", "ns", "", "offset", ""), "all namespaces")))),
		h.If(len(spaces.Namespaces) == namespacesPage, muted("Of the namespaces the first 100 are listed.")),
		body, r.around("/store", offset, len(list), another), r.mention(http.MethodPost, "/store/items/search", query),
		r.writeForm("New item", r.base+"/store/item", h.Div(h.Class("fields"), textField("Namespace, with dots between its labels", "ns", prefix, true), textField("Key", "key", "", true),
			jsonField("Value", "value", "")), send("main", "Put the item")),
	}}, nil
}

// itemQuery is the query that names an item.
func itemQuery(r *request) (ns, key, query string) {
	ns, key = r.URL.Query().Get("ns"), r.URL.Query().Get("key")
	return ns, key, url.Values{"namespace": {ns}, "key": {key}}.Encode()
}

// showItem is the page of an item.
func showItem(r *request) (view, error) {
	ns, key, query := itemQuery(r)
	var found *item
	if err := r.source.Do(r.Context(), http.MethodGet, "/store/items?"+query, nil, &found); err != nil {
		return view{}, err
	}
	if found == nil {
		return view{}, &requestError{http.StatusNotFound, "there is no such item"}
	}
	return view{"/store", "Item " + key, h.Parts{
		h.P(h.Text("In "), link(r.base+"/store?ns="+url.QueryEscape(ns), ns), h.Text(" · created "), moment(found.Created), h.Text(" · updated "), moment(found.Updated)),
		h.Pre(h.Tabindex("0"), h.Text(pretty(found.Value))), r.mention(http.MethodGet, "/store/items?"+query, nil),
		r.writeForm("Edit the item", r.base+"/store/item", hidden("ns", ns), hidden("key", key), jsonField("Value", "value", pretty(found.Value)), send("main", "Put the value")),
		r.writeForm("Delete", r.base+"/store/item/delete", hidden("ns", ns), hidden("key", key),
			h.Label(h.Text("Type its key to confirm "), h.Input(h.Name("name"), h.Autocomplete("off"), h.Required(true))), send("danger", "Delete")),
	}}, nil
}

func putItem(r *request) (view, string, error) {
	value, err := r.object("value")
	if err != nil {
		return view{}, "", err
	}
	if value == nil {
		value = json.RawMessage("{}")
	}
	i := item{Namespace: labels(strings.TrimSpace(r.PostForm.Get("ns"))), Key: strings.TrimSpace(r.PostForm.Get("key"))}
	return view{}, r.itemPath(i), r.source.Do(r.Context(), http.MethodPut, "/store/items", map[string]any{"namespace": i.Namespace, "key": i.Key, "value": value}, nil)
}

func deleteItem(r *request) (view, string, error) {
	ns, key := r.PostForm.Get("ns"), r.PostForm.Get("key")
	if strings.TrimSpace(r.PostForm.Get("name")) != strings.TrimSpace(key) {
		return view{}, "", &requestError{http.StatusUnprocessableEntity, "type the key to confirm"}
	}
	return view{}, r.base + "/store?ns=" + url.QueryEscape(ns), r.source.Do(r.Context(), http.MethodDelete, "/store/items", map[string]any{"namespace": labels(ns), "key": key}, nil)
}
