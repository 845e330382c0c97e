package verbs

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/cli/reports"
	"github.com/weftrun/weft/state"
)

// asked is a store that notes what it is asked for.
type asked struct {
	checkpoint.Store
	queries []string
}

func (a *asked) History(ctx context.Context, k checkpoint.Key, q checkpoint.Query) iter.Seq2[checkpoint.Snapshot, error] {
	a.queries = append(a.queries, fmt.Sprintf("history %v limit %d", q.Where, q.Limit))
	return a.Store.History(ctx, k, q)
}

func (a *asked) Threads(ctx context.Context, q checkpoint.ThreadQuery) iter.Seq2[checkpoint.Snapshot, error] {
	a.queries = append(a.queries, fmt.Sprintf("threads %v limit %d", q.Where, q.Limit))
	return a.Store.Threads(ctx, q)
}

func (*asked) Close() error { return nil }

func TestThreads_LabelsAreFilteredByTheStore(t *testing.T) {
	type thread struct {
		N state.Sum[int] `json:"n"`
	}
	b := graph.New[thread]("count")
	b.Node("one", graph.Func(func(_ context.Context, s *thread) error { s.N.Add(1); return nil }))
	b.Node("two", graph.Func(func(_ context.Context, s *thread) error { s.N.Add(1); return nil }))
	b.Edge(graph.Start, "one")
	b.Edge("one", "two")
	b.Edge("two", graph.End)
	store := &asked{Store: new(checkpoint.Memory)}
	g, err := b.Compile(graph.Config{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ann", "bob", "cleo"} {
		if _, err := g.Invoke(t.Context(), thread{}, graph.RunOptions{Thread: name, Metadata: map[string]string{"user": name[:1], "tier": "gold"}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args, asked string
		rows        string // the first word of each
	}{
		{"history --thread ann --where source=step", "history map[source:step] limit 0", "3 2"},
		{"history --thread ann --where source=step --limit 1", "history map[source:step] limit 2", "3"},
		{"history --thread ann --where graph=count --where user=a --where step=2 --where turn=1", "history map[graph:count step:2 turn:1 user:a] limit 0", "3"},
		{"history --thread ann --where user=b", "history map[user:b] limit 0", ""},
		{"history --thread ann --where source=step --where node=one", "history map[source:step] limit 0", "2"},
		{"history --thread ann --where source=step --where node=one --limit 1", "history map[source:step] limit 0", "2"},
		{"history --thread ann --where step=1 --where step=2", "history map[step:1] limit 0", ""},
		{"history --thread ann --where status=done", "history map[] limit 0", "3"},
		{"threads --where user=b", "threads map[user:b] limit 0", "bob"},
		{"threads --where tier=gold --where status=done --limit 2", "threads map[tier:gold] limit 0", "ann bob"},
		{"threads --where tier=gold --limit 1", "threads map[tier:gold] limit 1", "ann"},
		{"threads --where graph=other", "threads map[graph:other] limit 0", ""},
	} {
		store.queries = nil
		var stdout, stderr bytes.Buffer
		code := Main(t.Context(), Config{
			Args: append(strings.Fields(c.args), "--store", "asked:"), Stdout: &stdout, Stderr: &stderr,
			Stores: map[string]Opener{"asked": func(context.Context, string) (checkpoint.Store, error) { return store, nil }},
		})
		if code != reports.ExitDone {
			t.Errorf("weft %s: exit code %d\n%s", c.args, code, stderr.String())
			continue
		}
		if got := store.queries[len(store.queries)-1]; got != c.asked {
			t.Errorf("rule: what the labels of a commit say is asked of the store\n weft %s\n got: %s\nwant: %s", c.args, got, c.asked)
		}
		if got := firstWords(stdout.String()); got != c.rows {
			t.Errorf("weft %s: got the rows %q, want %q\n%s", c.args, got, c.rows, stdout.String())
		}
	}
}

// firstWords returns the first word of each line of a table but its head.
func firstWords(table string) string {
	var rows []string
	for i, line := range strings.Split(strings.TrimSpace(table), "\n") {
		if words := strings.Fields(line); i > 0 && len(words) > 0 {
			rows = append(rows, words[0])
		}
	}
	return strings.Join(rows, " ")
}
