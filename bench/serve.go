package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// served is a server in a process of its own, on one store.
type served struct {
	name, url string
	peer      bool // of another project
	cmd       *exec.Cmd
	began     time.Duration // from the start of the process to its first answer
	client    *http.Client
}

// startServed starts a server of Weft on a store, and waits until it answers.
func startServed(ctx context.Context, name, store string) (*served, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return await(ctx, name, exec.CommandContext(ctx, self, "-"+childFlag, store))
}

// startLangGraph starts the LangGraph server for JavaScript, whose packages are in a folder. It
// keeps its threads in memory, and writes them to dir when it ends.
func startLangGraph(ctx context.Context, folder, dir string) (*served, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "node", filepath.Join(folder, "serve.mjs"), port, dir)
	cmd.Env = append(os.Environ(), "LOG_LEVEL=error", "NODE_ENV=production")
	s, err := await(ctx, "LangGraph.js", cmd)
	if err == nil {
		s.peer = true
	}
	return s, err
}

// await starts a server, and waits until it has printed its address and answers.
func await(ctx context.Context, name string, cmd *exec.Cmd) (*served, error) {
	s := &served{name: name, cmd: cmd}
	s.cmd.Cancel = func() error { return s.cmd.Process.Signal(syscall.SIGTERM) }
	s.cmd.WaitDelay, s.cmd.Stderr = 10*time.Second, os.Stderr
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	begun := time.Now()
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	s.url = strings.TrimSpace(strings.TrimPrefix(line, "listening on "))
	s.client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256}}
	if err == nil {
		_, err = s.get(ctx, "/ok")
	}
	if s.began = time.Since(begun); err != nil {
		s.stop()
		return nil, fmt.Errorf("the server on %s: %w", name, err)
	}
	return s, nil
}

func (s *served) stop() {
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	_ = s.cmd.Wait()
	s.client.CloseIdleConnections()
}

func (s *served) do(ctx context.Context, method, path, body string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, s.url+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	res, err := s.client.Do(r)
	if err == nil && res.StatusCode >= 300 {
		text, _ := io.ReadAll(io.LimitReader(res.Body, 500))
		res.Body.Close()
		err = fmt.Errorf("%s %s: status %d: %s", method, path, res.StatusCode, text)
	}
	return res, err
}

func (s *served) text(ctx context.Context, method, path, body string) (string, error) {
	res, err := s.do(ctx, method, path, body)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	return string(data), err
}

func (s *served) get(ctx context.Context, path string) (string, error) {
	return s.text(ctx, http.MethodGet, path, "")
}

// memory returns the resident memory in bytes; 0 if it is not known.
func (s *served) memory() float64 {
	return peak{folder: fmt.Sprintf("/proc/%d", s.cmd.Process.Pid)}.field("VmRSS:")
}

// processor returns how much processor time the server has used; 0 if it is not known.
func (s *served) processor() time.Duration {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(data), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond // of the usual 100 a second
}

// goroutines returns how many the server has.
func (s *served) goroutines(ctx context.Context) (int, error) {
	text, err := s.get(ctx, "/metrics")
	for line := range strings.Lines(text) {
		if n, ok := strings.CutPrefix(line, "go_goroutines "); ok {
			return strconv.Atoi(strings.TrimSpace(n))
		}
	}
	return 0, errors.Join(err, errors.New("there is no metric go_goroutines"))
}

// quantile returns the time below which a part of the times is, which it sorts.
func quantile(times []time.Duration, part float64) time.Duration {
	if len(times) == 0 {
		return 0
	}
	slices.Sort(times)
	return times[min(len(times)-1, int(part*float64(len(times))))]
}

// onStore is a server that is measured, and its store.
type onStore struct {
	name, url string
	start     func(context.Context) (*served, error)
}

// serveTable measures servers on all stores, and that of LangGraph.js, and prints the table.
func serveTable(ctx context.Context, w io.Writer, o options, streams int, only *regexp.Regexp) error {
	dir, err := os.MkdirTemp("", "weft-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var all []onStore
	add := func(name, url string) {
		all = append(all, onStore{name, url, func(ctx context.Context) (*served, error) { return startServed(ctx, name, url) }})
	}
	add("memory", "memory")
	add("SQLite", filepath.Join(dir, "weft.db"))
	for _, s := range []struct {
		name, url string
		start     func(context.Context) (*server, error)
	}{{"Redis", o.redis, startRedis}, {"PostgreSQL", o.postgres, startPostgres}} {
		if s.url == "" && !o.plain {
			started, err := s.start(ctx)
			if err != nil {
				fmt.Fprintf(w, "%s is not measured: %s\n\n", s.name, firstLine(err.Error()))
				continue
			}
			defer started.stop()
			s.url = started.url
		}
		if s.url != "" {
			add(s.name, s.url)
		}
	}
	if _, err := os.Stat(filepath.Join(o.folder, "node_modules", "@langchain", "langgraph-api")); err == nil && !o.plain {
		all = append(all, onStore{"LangGraph.js, memory", "memory", func(ctx context.Context) (*served, error) { return startLangGraph(ctx, o.folder, dir) }})
	} else if !o.plain {
		fmt.Fprintf(w, "LangGraph.js is not measured: npm ci --prefix %s installs it\n\n", o.folder)
	}
	rows := slices.DeleteFunc(serveRows(o.short, streams), func(r serveRow) bool { return !only.MatchString(r.what) })
	heads, cells := []string(nil), make([][]string, len(rows))
	var failed []error
	for _, on := range all {
		s, err := on.start(ctx)
		if err != nil {
			return err
		}
		heads = append(heads, on.name)
		for i, row := range rows {
			limit, cancel := context.WithTimeout(ctx, rowTime)
			text, err := row.measure(limit, s, on.url)
			cancel()
			if err != nil {
				failed = append(failed, fmt.Errorf("%s on %s: %w", row.what, on.name, err))
				text = "failed"
			}
			cells[i] = append(cells[i], text)
		}
		s.stop()
	}
	fmt.Fprintf(w, "| `weft serve` | goal | %s |\n|---|---|%s\n", strings.Join(heads, " | "), strings.Repeat("--:|", len(heads)))
	for i, row := range rows {
		fmt.Fprintf(w, "| %s | %s | %s |\n", row.what, row.goal, strings.Join(cells[i], " | "))
	}
	return errors.Join(failed...)
}

// rowTime bounds the measurement of one line on one store, and sampleTime that of its samples.
const (
	rowTime    = 90 * time.Second
	sampleTime = 40 * time.Second
)
