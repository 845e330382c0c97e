package verbs

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/weftrun/weft/internal/cli/reports"
)

// keyVariable has the API key for a server.
const keyVariable = "WEFT_API_KEY"

const (
	remoteTime  = 30 * time.Second // for one request
	remoteBytes = 64 << 20         // of an answer
	remotePage  = 1000             // objects that are asked for at once
)

// remoteRuns are the runs that a server shows.
type remoteRuns struct {
	base   string
	client *http.Client
}

func newRemoteRuns(address string) (remoteRuns, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return remoteRuns{}, reports.Usage("write --server http://"+defaultListen, "--server must be a URL of http or https (got %q)", address)
	}
	return remoteRuns{strings.TrimSuffix(address, "/"), &http.Client{Timeout: remoteTime}}, nil
}

// do makes a request, and decodes the answer into v if it is not nil.
func (s remoteRuns) do(ctx context.Context, method, path string, body, v any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, method, s.base+path, bytes.NewReader(data))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Weft-Dialect", "py")
	if key := os.Getenv(keyVariable); key != "" {
		req.Header.Set("X-Api-Key", key)
	}
	res, err := s.client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(res.Body, remoteBytes))
	if err != nil {
		return err
	}
	if res.StatusCode >= 300 {
		var why struct{ Detail string }
		if json.Unmarshal(answer, &why) != nil || why.Detail == "" {
			why.Detail = http.StatusText(res.StatusCode)
		}
		return fmt.Errorf("the server answers %d: %s", res.StatusCode, why.Detail)
	}
	if v == nil {
		return nil
	}
	if err := json.Unmarshal(answer, v); err != nil {
		return fmt.Errorf("the answer of the server: %w", err)
	}
	return nil
}

// remoteRun is a run as a server shows it.
type remoteRun struct {
	RunID       string                          `json:"run_id"`
	ThreadID    string                          `json:"thread_id"`
	AssistantID string                          `json:"assistant_id"`
	Status      string                          `json:"status"`
	Metadata    map[string]any                  `json:"metadata"`
	Kwargs      struct{ Input json.RawMessage } `json:"kwargs"`
	CreatedAt   time.Time                       `json:"created_at"`
	UpdatedAt   time.Time                       `json:"updated_at"`
}

func (s remoteRuns) list(ctx context.Context, thread string) (all []servedRun, err error) {
	if thread != "" {
		return s.of(ctx, thread)
	}
	for r, err := range s.active(ctx) {
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

func (s remoteRuns) active(ctx context.Context) iter.Seq2[servedRun, error] {
	return func(yield func(servedRun, error) bool) {
		threads, err := s.busy(ctx)
		if err != nil {
			yield(servedRun{}, err)
			return
		}
		for _, t := range threads {
			runs, err := s.of(ctx, t)
			if err != nil {
				yield(servedRun{}, err)
				return
			}
			for _, r := range runs {
				if (r.Status == "pending" || r.Status == "running") && !yield(r, nil) {
					return
				}
			}
		}
	}
}

// of returns the runs of a thread, the oldest first.
func (s remoteRuns) of(ctx context.Context, thread string) (all []servedRun, err error) {
	var runs []remoteRun
	if err := s.do(ctx, http.MethodGet, fmt.Sprintf("/threads/%s/runs?limit=%d", url.PathEscape(thread), remotePage), nil, &runs); err != nil {
		return nil, err
	}
	for _, r := range slices.Backward(runs) {
		graph, _ := r.Metadata["graph_id"].(string)
		all = append(all, servedRun{
			Run: r.RunID, Thread: r.ThreadID, Graph: graph, Assistant: r.AssistantID, Status: r.Status,
			Created: r.CreatedAt, Updated: r.UpdatedAt, Input: r.Kwargs.Input,
		})
	}
	return all, nil
}

// busy returns the threads that have runs which have not ended.
func (s remoteRuns) busy(ctx context.Context) (ids []string, err error) {
	for {
		var page []struct {
			ThreadID string `json:"thread_id"`
		}
		query := map[string]any{"status": "busy", "limit": remotePage, "offset": len(ids), "select": []string{"thread_id"}, "sort_order": "asc"}
		if err := s.do(ctx, http.MethodPost, "/threads/search", query, &page); err != nil {
			return nil, err
		}
		for _, t := range page {
			ids = append(ids, t.ThreadID)
		}
		if len(page) < remotePage {
			return ids, nil
		}
	}
}

func (s remoteRuns) cancel(ctx context.Context, r servedRun, rollback bool) error {
	action := "interrupt"
	if rollback {
		action = "rollback"
	}
	return s.do(ctx, http.MethodPost, fmt.Sprintf("/threads/%s/runs/%s/cancel?action=%s", url.PathEscape(r.Thread), url.PathEscape(r.Run), action), nil, nil)
}
