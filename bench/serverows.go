package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidwall/gjson"
)

// serveRow is a line of the table of the server.
type serveRow struct {
	what, goal string
	measure    func(ctx context.Context, s *served, store string) (string, error)
}

const stepsBody = `{"assistant_id":"steps","input":{}}`

// serveRows returns the lines of the table. streams is how many idle ones there are.
func serveRows(short bool, streams int) []serveRow {
	waits, span, threads := 500, 5*time.Second, 500
	if short {
		waits, span, threads, streams = 5, 100*time.Millisecond, 5, min(streams, 10)
	}
	return []serveRow{
		{"start to `/ok`, 20 graphs", "< 300 ms", func(_ context.Context, s *served, _ string) (string, error) { return shownTime(s.began), nil }},
		{"resident memory, idle", "< 60 MB", func(_ context.Context, s *served, _ string) (string, error) { return megabytes(s.memory()), nil }},
		{"`runs/wait` of 5 steps, p50 / p99", "< 5 / 20 ms; disk 15, Redis 10", func(ctx context.Context, s *served, _ string) (string, error) {
			return timed(waits, func() (time.Duration, error) {
				begun := time.Now()
				text, err := s.text(ctx, "POST", "/runs/wait", stepsBody)
				if err == nil && gjson.Get(text, "n").Int() != 5 {
					err = fmt.Errorf("the run ended with %.200s", text)
				}
				return time.Since(begun), err
			})
		}},
		{"first event of a stream, p50 / p99", "< 3 ms", func(ctx context.Context, s *served, _ string) (string, error) {
			return timed(waits, func() (time.Duration, error) { return s.firstEvent(ctx) })
		}},
		{"waits of 5 steps, 64 clients", "≥ 1,000 /s", func(ctx context.Context, s *served, _ string) (string, error) { return s.crowd(ctx, 64, span) }},
		{"`GET state` / `history` of 10, p50", "< 3 / 10 ms", func(ctx context.Context, s *served, _ string) (string, error) { return s.reads(ctx, threads) }},
		{"100 streams of 50 events/s: p99 lag, processors", "< 50 ms, < 1", func(ctx context.Context, s *served, _ string) (string, error) {
			return s.tokens(ctx, min(100, streams))
		}},
		{"runs on 1,000 threads, two workers", "Redis ≥ 800 /s", func(ctx context.Context, s *served, store string) (string, error) {
			return s.queued(ctx, store, 2*threads)
		}},
		{fmt.Sprintf("%d idle streams: memory, goroutines each", streams), "< 500 MB, ≤ 3", func(ctx context.Context, s *served, _ string) (string, error) {
			return s.idle(ctx, streams)
		}},
	}
}

func shownTime(d time.Duration) string {
	return strconv.FormatFloat(float64(d.Microseconds())/1000, 'f', 1, 64) + " ms"
}

func megabytes(n float64) string { return fmt.Sprintf("%.0f MB", n/1e6) }

// timed calls f n times, or until it has taken long, and returns the middle and the end of its
// times.
func timed(n int, f func() (time.Duration, error)) (string, error) {
	var times []time.Duration
	begun := time.Now()
	for i := range n + n/10 {
		d, err := f()
		if err != nil {
			return "", err
		}
		late := time.Since(begun) > sampleTime
		if i >= n/10 || late { // the first warm up
			times = append(times, d)
		}
		if late {
			break
		}
	}
	return shownTime(quantile(times, .5)) + " / " + shownTime(quantile(times, .99)), nil
}

// firstEvent returns the time from a request to the first event of its stream.
func (s *served) firstEvent(ctx context.Context) (time.Duration, error) {
	begun := time.Now()
	res, err := s.do(ctx, "POST", "/runs/stream", stepsBody)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	var first time.Duration
	for lines.Scan() {
		if first == 0 && strings.HasPrefix(lines.Text(), "event: ") {
			first = time.Since(begun)
		}
	}
	if first == 0 {
		return 0, errors.New("the stream has no event")
	}
	return first, lines.Err()
}

// crowd returns how many waits clients have done a second.
func (s *served) crowd(ctx context.Context, clients int, span time.Duration) (string, error) {
	var done atomic.Int64
	errs := make([]error, clients)
	var wg sync.WaitGroup
	begun := time.Now()
	for i := range clients {
		wg.Go(func() {
			for errs[i] == nil && time.Since(begun) < span {
				if _, errs[i] = s.text(ctx, "POST", "/runs/wait", stepsBody); errs[i] == nil {
					done.Add(1)
				}
			}
		})
	}
	wg.Wait()
	return fmt.Sprintf("%.0f /s", float64(done.Load())/time.Since(begun).Seconds()), errors.Join(errs...)
}

// thread creates a thread.
func (s *served) thread(ctx context.Context) (string, error) {
	text, err := s.text(ctx, "POST", "/threads", "{}")
	return gjson.Get(text, "thread_id").String(), err
}

// reads runs a graph on threads, fewer if that takes long, and returns the times of reading them.
func (s *served) reads(ctx context.Context, threads int) (string, error) {
	var ids []string
	for begun := time.Now(); len(ids) < threads && time.Since(begun) < sampleTime; {
		id, err := s.thread(ctx)
		if err != nil {
			return "", err
		}
		ids = append(ids, id)
		for range 2 {
			if _, err := s.text(ctx, "POST", "/threads/"+id+"/runs/wait", stepsBody); err != nil {
				return "", err
			}
		}
	}
	var shown []string
	for _, path := range []string{"/state", "/history?limit=10"} {
		var times []time.Duration
		for _, id := range ids {
			begun := time.Now()
			if _, err := s.get(ctx, "/threads/"+id+path); err != nil {
				return "", err
			}
			times = append(times, time.Since(begun))
		}
		shown = append(shown, shownTime(quantile(times, .5)))
	}
	return strings.Join(shown, " / "), nil
}

// tokens returns how late the events of many streams come, and how many processors that takes.
func (s *served) tokens(ctx context.Context, streams int) (string, error) {
	all, errs := make([][]time.Duration, streams), make([]error, streams)
	again := make([]int, streams)
	var wg sync.WaitGroup
	begun, used := time.Now(), s.processor()
	for i := range streams {
		wg.Go(func() { all[i], again[i], errs[i] = s.lags(ctx) })
	}
	wg.Wait()
	var times []time.Duration
	restarts := 0
	for i, list := range all {
		times = append(times, list...)
		restarts += again[i]
	}
	load := float64(s.processor()-used) / float64(time.Since(begun))
	shown := fmt.Sprintf("%s, %.2f", shownTime(quantile(times, .99)), load)
	if restarts > 0 {
		shown += fmt.Sprintf(" (%d begun again)", restarts)
	}
	return shown, errors.Join(errs...)
}

// lags returns how late the events of one stream came, and how often its run was begun again
// because its store was silent. The events of earlier attempts do not count.
func (s *served) lags(ctx context.Context) (times []time.Duration, again int, err error) {
	res, err := s.do(ctx, "POST", "/runs/stream", `{"assistant_id":"tokens","input":{},"stream_mode":["custom"]}`)
	if err != nil {
		return nil, 0, err
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		var sent servedToken
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok || json.Unmarshal([]byte(data), &sent) != nil || sent.At == 0 {
			continue
		}
		if sent.N == 0 && len(times) > 0 {
			times, again = times[:0], again+1
		}
		if sent.N != len(times) {
			return nil, again, fmt.Errorf("event %d of a stream comes after %d events", sent.N, len(times))
		}
		times = append(times, time.Since(time.Unix(0, sent.At)))
	}
	if len(times) != 100 {
		return nil, again, fmt.Errorf("a stream has %d events, want 100", len(times))
	}
	return times, again, lines.Err()
}

// queued creates two runs on each of many threads, while another process works too, and returns how
// many ended a second.
func (s *served) queued(ctx context.Context, store string, threads int) (string, error) {
	if store == "memory" {
		return "–", nil
	}
	other, err := startServed(ctx, s.name, store)
	if err != nil {
		return "", err
	}
	defer other.stop()
	ids, errs := make([]string, threads), make([]error, threads)
	each := func(do func(i int) error) error {
		var next atomic.Int64
		var wg sync.WaitGroup
		for range 64 {
			wg.Go(func() {
				for i := int(next.Add(1)) - 1; i < threads; i = int(next.Add(1)) - 1 {
					errs[i] = errors.Join(errs[i], do(i))
				}
			})
		}
		wg.Wait()
		return errors.Join(errs...)
	}
	if err := each(func(i int) (err error) { ids[i], err = s.thread(ctx); return err }); err != nil {
		return "", err
	}
	begun := time.Now()
	last := make([]string, threads)
	err = each(func(i int) error {
		for j := range 2 {
			on := []*served{s, other}[(i+j)%2]
			text, err := on.text(ctx, "POST", "/threads/"+ids[i]+"/runs", stepsBody)
			if err != nil {
				return err
			}
			last[i] = gjson.Get(text, "run_id").String()
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	err = each(func(i int) error {
		text, err := s.get(ctx, "/threads/"+ids[i]+"/runs/"+last[i]+"/join")
		if err == nil && gjson.Get(text, "n").Int() != 10 {
			err = fmt.Errorf("the thread ended with %.200s", text)
		}
		return err
	})
	return fmt.Sprintf("%.0f /s", float64(2*threads)/time.Since(begun).Seconds()), err
}

// idle opens streams of threads on which nothing runs, and returns what they take.
func (s *served) idle(ctx context.Context, streams int) (string, error) {
	if s.peer {
		return "–", nil // it has no streams of threads
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	before, err := s.goroutines(ctx)
	if err != nil {
		return "", err
	}
	id := ""
	for i := range streams {
		if i%10 == 0 {
			if id, err = s.thread(ctx); err != nil {
				return "", err
			}
		}
		res, err := s.do(ctx, "GET", "/threads/"+id+"/stream", "")
		if err != nil {
			return "", fmt.Errorf("stream %d: %w", i+1, err)
		}
		defer res.Body.Close()
	}
	after, err := s.goroutines(ctx)
	return fmt.Sprintf("%s, %.1f", megabytes(s.memory()), float64(after-before)/float64(streams)), err
}
