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
	cmd       *exec.Cmd
	began     time.Duration // from the start of the process to its first answer
	client    *http.Client
}

// startServed starts a server and waits until it answers.
func startServed(ctx context.Context, name, store string) (*served, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	s := &served{name: name, cmd: exec.CommandContext(ctx, self, "-"+childFlag, store)}
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

// serveTable measures servers on all stores, and prints the table.
func serveTable(ctx context.Context, w io.Writer, o options, streams int, only *regexp.Regexp) error {
	dir, err := os.MkdirTemp("", "weft-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	stores := []struct{ name, url string }{{"memory", "memory"}, {"SQLite", filepath.Join(dir, "weft.db")}}
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
			stores = append(stores, struct{ name, url string }{s.name, s.url})
		}
	}
	fmt.Fprintf(w, "| `weft serve` | goal |")
	rows := slices.DeleteFunc(serveRows(o.short, streams), func(r serveRow) bool { return !only.MatchString(r.what) })
	cells := make([][]string, len(rows))
	var failed []error
	for _, store := range stores {
		fmt.Fprintf(w, " %s |", store.name)
		s, err := startServed(ctx, store.name, store.url)
		if err != nil {
			return err
		}
		for i, row := range rows {
			limit, cancel := context.WithTimeout(ctx, rowTime)
			text, err := row.measure(limit, s, store.url)
			cancel()
			if err != nil {
				failed = append(failed, fmt.Errorf("%s on %s: %w", row.what, store.name, err))
				text = "failed"
			}
			cells[i] = append(cells[i], text)
		}
		s.stop()
	}
	fmt.Fprintf(w, "\n|---|---|%s\n", strings.Repeat("--:|", len(stores)))
	for i, row := range rows {
		fmt.Fprintf(w, "| %s | %s | %s |\n", row.what, row.goal, strings.Join(cells[i], " | "))
	}
	return errors.Join(failed...)
}

// rowTime bounds the measurement of one line on one store.
const rowTime = 90 * time.Second
