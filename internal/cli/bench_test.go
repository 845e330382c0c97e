package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// command carries out a command line in this process.
func command(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = Main(context.Background(), Config{Args: args, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs})
	return code, out.String(), errs.String()
}

func TestBenchMeasuresEveryStepAndLeavesNothingBehind(t *testing.T) {
	store := "sqlite:" + filepath.Join(t.TempDir(), "b.db")
	code, stdout, stderr := command(t, "bench", "--steps", "20", "--threads", "3", "--json", "--store", store)
	var m measures
	if err := json.Unmarshal([]byte(stdout), &m); err != nil || code != exitDone {
		t.Fatalf("exit code %d: %v\n%s%s", code, err, stdout, stderr)
	}
	if m.Steps != 60 || m.Threads != 3 || m.Commits < 60 || m.PerSec <= 0 || m.P50 > m.P99 || m.P99 > m.Max || m.Verdict == "" {
		t.Errorf("got %+v", m)
	}
	if _, threads, _ := command(t, "threads", "--json", "--store", store); threads != "" {
		t.Errorf("these threads are left: %s", threads)
	}
	if _, text, _ := command(t, "bench", "--steps", "2", "--store", "memory:"); !strings.HasPrefix(text, "2 steps on 1 thread in ") || !strings.Contains(text, "\nverdict: ") {
		t.Errorf("got %s", text)
	}
	if code, _, stderr := command(t, "bench", "--steps", "0"); code != exitUsage || !strings.Contains(stderr, "\nnext: give ") {
		t.Errorf("no steps: exit code %d, %s", code, stderr)
	}
}

func TestTheVerdictFollowsTheCommits(t *testing.T) {
	for _, c := range []struct {
		p50, p99 time.Duration
		want     string
	}{
		{time.Millisecond, 2 * time.Millisecond, "good"},
		{time.Millisecond, 80 * time.Millisecond, "uneven"},
		{12 * time.Millisecond, 20 * time.Millisecond, "fair"},
		{60 * time.Millisecond, 70 * time.Millisecond, "slow"},
	} {
		if got, _, _ := strings.Cut(judged(c.p50, c.p99), ":"); got != c.want {
			t.Errorf("p50 %v, p99 %v: %s, want %s", c.p50, c.p99, got, c.want)
		}
	}
	m := summed(benchFlags{steps: 2, threads: 2}, 2*time.Second, []time.Duration{4e6, 1e6, 3e6, 2e6})
	if m.PerSec != 2 || m.P50 != 3 || m.P99 != 4 || m.Max != 4 {
		t.Errorf("got %+v", m)
	}
}
