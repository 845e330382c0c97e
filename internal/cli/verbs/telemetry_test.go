package verbs

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/cli/reports"
)

// counting is an observer that counts runs.
type counting struct{ runs atomic.Int32 }

func (c *counting) Begin(ctx context.Context, a graph.Activity) (context.Context, func(graph.Outcome)) {
	if a.Kind == graph.RunActivity {
		c.runs.Add(1)
	}
	return ctx, nil
}

func (c *counting) Carrier(context.Context) map[string]string { return nil }

func TestOTLP_IsThatOfTheProgram(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.yaml")
	const flow = "version: 1\nstate: {n: int}\nnodes: {a: {set: {n: 1}, next: END}}\n"
	if err := os.WriteFile(file, []byte(flow), 0o600); err != nil {
		t.Fatal(err)
	}
	call := func(open TelemetryOpener) (code int, stderr string) {
		var out, failed bytes.Buffer
		code = Main(t.Context(), Config{Args: []string{"run", file, "--store", "memory:", "--otlp", "http://collector"}, Stdout: &out, Stderr: &failed, Telemetry: open})
		return code, failed.String()
	}
	code, text := call(nil)
	if code != reports.ExitUsage || !strings.Contains(text, ErrNoTelemetry.Error()) || !strings.Contains(text, "go install github.com/weftrun/weft/otel/cmd/weft@latest") {
		t.Errorf("without an export: code %d, want %d, with the program that has it\n%s", code, reports.ExitUsage, text)
	}
	o := &counting{}
	closed := 0
	open := func(_ context.Context, address string) (graph.Observer, func(context.Context) error, error) {
		if address != "http://collector" {
			t.Errorf("the address is %q", address)
		}
		return o, func(context.Context) error { closed++; return errors.New("the collector is away") }, nil
	}
	code, text = call(open)
	if code != reports.ExitDone || o.runs.Load() != 1 || closed != 1 || !strings.Contains(text, "not sent: the collector is away") {
		t.Errorf("code %d, %d runs, closed %d times\n%s", code, o.runs.Load(), closed, text)
	}
	code, text = call(func(context.Context, string) (graph.Observer, func(context.Context) error, error) {
		return nil, nil, errors.New("no such place")
	})
	if code != reports.ExitUsage || !strings.Contains(text, "no such place") {
		t.Errorf("an export that does not start: code %d\n%s", code, text)
	}
}
