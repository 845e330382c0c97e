package verbs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/postgres"
	"github.com/weftrun/weft/checkpoint/redis"
	"github.com/weftrun/weft/checkpoint/sqlite"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/cli/reports"
	"github.com/weftrun/weft/internal/servertest"
	"github.com/weftrun/weft/state"
)

type counter struct {
	N state.Sum[int] `json:"n"`
}

// openCounting returns a graph whose first node fails while failing is set.
func openCounting(tb testing.TB, store checkpoint.Store, failing *atomic.Bool) *graph.Graph[counter] {
	tb.Helper()
	b := graph.New[counter]("counting")
	b.Node("one", graph.Func(func(_ context.Context, s *counter) error {
		if failing.Load() {
			return errors.New("not yet")
		}
		s.N.Add(1)
		return nil
	}))
	b.Edge(graph.Start, "one")
	b.Edge("one", graph.End)
	g, err := b.Compile(graph.Config{Store: store})
	if err != nil {
		tb.Fatal(err)
	}
	return g
}

// failThreads makes threads of counting that have failed.
func failThreads(tb testing.TB, store checkpoint.Store, n int) *atomic.Bool {
	tb.Helper()
	failing := new(atomic.Bool)
	failing.Store(true)
	g := openCounting(tb, store, failing)
	for i := range n {
		if _, err := g.Invoke(tb.Context(), counter{}, graph.RunOptions{Thread: fmt.Sprintf("t%05d", i)}); err == nil {
			tb.Fatal("the node has not failed")
		}
	}
	failing.Store(false)
	return failing
}

// onStore runs a command on a store, with the graph counting.
func onStore(tb testing.TB, store checkpoint.Store, stdout io.Writer, args ...string) int {
	tb.Helper()
	var stderr bytes.Buffer
	code := Main(tb.Context(), Config{
		Args: append(args, "--store", "open:"), Stdout: stdout, Stderr: &stderr,
		Stores: map[string]Opener{"open": func(context.Context, string) (checkpoint.Store, error) { return open{store}, nil }},
		Graphs: map[string]Graph{"counting": func(context.Context, checkpoint.Store) (graph.Untyped, error) {
			return openCounting(tb, store, new(atomic.Bool)).Untyped(), nil
		}},
	})
	if stderr.Len() > 0 {
		tb.Log(stderr.String())
	}
	return code
}

// open is a store that stays open.
type open struct{ checkpoint.Store }

func (open) Close() error { return nil }

// paged notes in which pages threads are listed.
type paged struct {
	checkpoint.Store
	broken string // a thread whose header is damaged

	mu     sync.Mutex
	limits []int
}

func (p *paged) Threads(ctx context.Context, q checkpoint.ThreadQuery) iter.Seq2[checkpoint.Snapshot, error] {
	return func(yield func(checkpoint.Snapshot, error) bool) {
		p.mu.Lock()
		p.limits = append(p.limits, q.Limit)
		p.mu.Unlock()
		for s, err := range p.Store.Threads(ctx, q) {
			if s.Thread == p.broken && len(s.Header) > 0 {
				s.Header[len(s.Header)-1]++
			}
			if !yield(s, err) {
				return
			}
		}
	}
}

// TestBulk_PagesAndGoesOnAfterFailures has a thread whose newest commit is damaged.
func TestBulk_PagesAndGoesOnAfterFailures(t *testing.T) {
	const n = 2*threadsPage + 7
	store := &paged{Store: new(checkpoint.Memory), broken: "t00100"}
	failThreads(t, store, n)
	var stdout bytes.Buffer
	code := onStore(t, store, &stdout, "resume", "--where", "status=failed", "--parallel", "4")
	if code != reports.ExitFailed {
		t.Errorf("exit code %d, want %d", code, reports.ExitFailed)
	}
	want := fmt.Sprintf("%d threads, %d done, 1 failed\n", n, n-1)
	if !strings.HasSuffix(stdout.String(), want) {
		t.Errorf("rule: a thread that fails does not stop the others\n got: %s\nwant: %s", stdout.String(), want)
	}
	if got := firstWords(stdout.String()); !strings.HasPrefix(got, "t00000 t00001 t00002 ") || !strings.Contains(stdout.String(), "t00100  failed") {
		t.Errorf("rule: outcomes are in the order of the names, the damaged thread too\n%s", stdout.String())
	}
	for _, limit := range store.limits {
		if limit != threadsPage {
			t.Errorf("rule: threads are read in pages of %d (got %v)", threadsPage, store.limits)
		}
	}

	store.broken = ""
	stdout.Reset()
	if code := onStore(t, store, &stdout, "resume", "--where", "status!=done"); code != 0 || !strings.HasSuffix(stdout.String(), "1 thread, 1 done\n") {
		t.Errorf("rule: the same command does the rest\n%d %s", code, stdout.String())
	}
}

// TestBulk_OutputThatFails has a stdout that is closed.
func TestBulk_OutputThatFails(t *testing.T) {
	store := new(checkpoint.Memory)
	failThreads(t, store, 3)
	if code := onStore(t, store, closedOutput{}, "resume", "--where", "status=failed"); code != reports.ExitFailed {
		t.Errorf("exit code %d, want %d", code, reports.ExitFailed)
	}
}

type closedOutput struct{}

func (closedOutput) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestFileOf_DiffersForEachThread(t *testing.T) {
	files := map[string]string{}
	for _, thread := range []string{"a", "A", "a/b", "a%2Fb", "a.b", ".", "..", "-", "*", "%2A", strings.Repeat("x", 300), strings.Repeat("x", 301), "é", "con text"} {
		file := fileOf(thread)
		if other, twice := files[strings.ToLower(file)]; twice {
			t.Errorf("the threads %q and %q have the file %s", thread, other, file)
		}
		files[strings.ToLower(file)] = thread
		if len(file) > 255 || strings.ContainsAny(file, "/\\:*?\"<>|") || strings.HasPrefix(file, ".") {
			t.Errorf("thread %q: %q is no name of a file on all systems", thread, file)
		}
	}
}

func TestWhere_Terms(t *testing.T) {
	for flag, want := range map[string]string{
		"status=failed,graph=x":    "status=failed|graph=x",
		"user=a,b":                 "user=a,b",
		"user=a,b,graph=x":         "user=a,b|graph=x",
		"graph!=x":                 "graph!=x",
		`tag={"a":1,"b=":2},run=1`: `tag={"a":1,"b=":2}|run=1`,
		"note=x, y=z":              "note=x, y=z",
		"user=":                    "user=",
	} {
		all, err := threadTerms.parse([]string{flag})
		var got []string
		for _, c := range all {
			sign := "="
			if c.not {
				sign = "!="
			}
			got = append(got, c.key+sign+c.value)
		}
		if err != nil || strings.Join(got, "|") != want {
			t.Errorf("--where %s: got %q, %v, want %q", flag, got, err, want)
		}
	}
}

// BenchmarkBulk measures the threads a second of resume --where on each store.
func BenchmarkBulk(b *testing.B) {
	for name, open := range map[string]func(b *testing.B) (checkpoint.Store, error){
		"sqlite": func(b *testing.B) (checkpoint.Store, error) { return sqlite.Open(b.Context(), b.TempDir()+"/weft.db") },
		"redis":  func(b *testing.B) (checkpoint.Store, error) { return redis.OpenURL(b.Context(), servertest.Redis(b)) },
		"postgres": func(b *testing.B) (checkpoint.Store, error) {
			return postgres.Open(b.Context(), servertest.Postgres(b), postgres.Config{RetryFor: time.Minute})
		},
	} {
		for _, parallel := range []string{"1", "4"} {
			b.Run(name+"/parallel="+parallel, func(b *testing.B) {
				store, err := open(b)
				if err != nil {
					b.Fatal(err)
				}
				defer store.Close()
				failThreads(b, store, b.N)
				b.ResetTimer()
				if code := onStore(b, store, io.Discard, "resume", "--where", "status=failed", "--parallel", parallel); code != 0 {
					b.Fatal(code)
				}
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "threads/s")
			})
		}
	}
}
