package studio

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func TestStateFilter(t *testing.T) {
	const state = `{"text":"a b","n":9007199254740993,"half":0.5,"ok":true,"nothing":null,"list":["x",2,{"in":"y"}],"deep":{"er":[{"k":"v"}]},"d.t":1,"a=b@c":{"!":2}}`
	for filter, want := range map[string]bool{
		"text": true, "text=a b": true, "text=a": false, `text="a b"`: true, "n=9007199254740993": true, "n=9007199254740992": false, "half=0.50": true, "half=1": false,
		"ok=true": true, "ok=false": false, `ok="true"`: false, "nothing": false, "nothing=null": true, "missing=null": false,
		"list": true, "list=x": true, "list=2": true, "list=y": false, "list.#.in=y": true, "list.2.in=y": true, "list.#=3": true,
		"deep.er.0.k=v": true, "deep.er.#.k=v": true, "deep.er.1": false, `d\.t=1`: true, "deep={": false,
		`a\=b\@c.\!=2`: true, `a\=b\@c.\!`: true, "te?t=a b": true, "*.er.0.k=v": true, "text=@this|[{(!": false,
	} {
		r := &request{Request: &http.Request{URL: &url.URL{RawQuery: url.Values{"state": {filter}}.Encode()}}}
		f, err := r.stateFilter()
		if err != nil {
			t.Fatal(err)
		}
		if got := f.selects(json.RawMessage(state)); got != want {
			t.Errorf("%s: got %v, want %v", filter, got, want)
		}
	}
}

// A modifier may double what it reads, and a path may have many.
func TestStateFilter_RefusesWhatMayGrow(t *testing.T) {
	for _, filter := range []string{
		strings.Repeat("@tostr|", 27) + "@tostr", "text.@tostr", "list.@this", `@pretty:{"indent":"x"}`, "!1", "[@this,@this]", "list.[0,1]", "{text,n}", "list.{0,1}",
		`items.#(name=="x")`, `list.#[in=="y"]`, "list|0", `text\\@x`, "=x", strings.Repeat("x", 201),
	} {
		r := &request{Request: &http.Request{URL: &url.URL{RawQuery: url.Values{"state": {filter}}.Encode()}}}
		_, err := r.stateFilter()
		if bad := (*requestError)(nil); !errors.As(err, &bad) || bad.status != http.StatusBadRequest {
			t.Errorf("%s: got %v, want a bad request", filter, err)
		}
	}
}
