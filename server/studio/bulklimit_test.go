package studio

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
)

// shelf is a source that only has threads, all in one store.
type shelf struct {
	Source
	store checkpoint.Store
}

func (s shelf) Thread(_ context.Context, id string) (Thread, error) {
	return Thread{ID: id, Store: s.store}, nil
}

func TestBulk_ExportsAreBounded(t *testing.T) {
	type words struct {
		Text state.Value[string] `json:"text"`
	}
	b := graph.New[words]("words")
	b.Node("a", graph.Func(func(_ context.Context, s *words) error {
		s.Text.Set(strings.Repeat("a", 10_000)) // is short when it is compressed
		return nil
	}))
	b.Edge(graph.Start, "a")
	b.Edge("a", graph.End)
	store := &checkpoint.Memory{}
	g, err := b.Compile(graph.Config{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	plain := 0
	for _, id := range []string{"t1", "t2"} {
		if _, err := g.Invoke(t.Context(), words{}, graph.RunOptions{Thread: id}); err != nil {
			t.Fatal(err)
		}
		var file bytes.Buffer
		if err := checkpoint.Export(t.Context(), store, id, &file); err != nil {
			t.Fatal(err)
		}
		plain += file.Len()
	}
	r := &request{Request: httptest.NewRequest("POST", "/", nil), source: shelf{store: store}}
	export := func(packed, plain int) (int, error) {
		file := &limited{io.Discard, packed}
		err := r.zip(file, []string{"t1", "t2"}, plain)
		return packed - file.left, err
	}
	packed, err := export(maxExport, plain)
	if err != nil || packed*2 > plain {
		t.Fatalf("the files of %d bytes have %d compressed, %v", plain, packed, err)
	}
	if _, err := export(packed, plain); err != nil {
		t.Errorf("an export at both bounds fails: %v", err)
	}
	for _, c := range [][2]int{{packed - 1, plain}, {packed, plain - 1}, {packed, plain / 2}, {1, plain}, {packed, 1}} {
		_, err := export(c[0], c[1])
		bad := (*requestError)(nil)
		if !errors.As(err, &bad) || bad.status != 422 || !strings.Contains(bad.text, "more than 1024 MiB, or 64 MiB compressed; export fewer threads") {
			t.Errorf("an export of %d bytes, %d compressed, with the bounds %d and %d: got %v", plain, packed, c[1], c[0], err)
		}
	}
}
