//go:build unix

package verbs_test

import (
	"bufio"
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/weftrun/weft/internal/racescale"
	"github.com/weftrun/weft/internal/servertest"
)

// counting adds its item to a list that the thread keeps, between two steps that take some time.
const counting = `version: 1
name: counting
state: {item: int, done: {type: list<int>, reducer: append}}
input: [item]
output: [done]
nodes:
  before: {uses: go:work, with: {worklog: "", name: before, millis: 5}, next: add}
  add: {set: {done: "${{ [state.item] }}"}, next: after}
  after: {uses: go:work, with: {worklog: "", name: after, millis: 5}, next: END}
`

// pair are two servers on one store, of which one may be dead.
type pair struct {
	place
	store string

	mu      sync.Mutex
	servers [2]*daemon
	killed  []time.Time // when a server was killed, the newest last
}

// killsSince returns how many servers were killed after a time, and when the first of them was. If
// n is 0, first is the time of the newest kill, or zero before the first kill.
func (q *pair) killsSince(at time.Time) (n int, first time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	i, _ := slices.BinarySearchFunc(q.killed, at, time.Time.Compare)
	if n = len(q.killed) - i; n == 0 {
		i--
	}
	if i >= 0 {
		first = q.killed[i]
	}
	return n, first
}

func (q *pair) startAt(i int) {
	d := q.start("serve", "w.yaml", "--listen", "127.0.0.1:0", "--log", "error", "--store", q.store)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.servers[i] = d
}

// url returns the address of one of the servers, which changes when it is started again.
func (q *pair) url(i int) string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.servers[i%2].url
}

// clientPause is how long a client waits before it tries again, so that the servers have the
// processors to themselves.
const clientPause = 20 * time.Millisecond

// request makes a request to one of the servers. The status is 0 if the connection broke.
func (q *pair) request(ctx context.Context, server int, method, path, body string) (status int, text string) {
	req, err := http.NewRequestWithContext(ctx, method, q.url(server)+path, strings.NewReader(body))
	if err != nil {
		return 0, ""
	}
	res, err := httpClient.Do(req)
	if err != nil {
		<-time.After(clientPause)
		return 0, ""
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, ""
	}
	return res.StatusCode, string(data)
}

// until repeats a request at both servers in turn until one answers it with 200.
func (q *pair) until(ctx context.Context, server int, method, path, body string) string {
	for ; ctx.Err() == nil; server++ {
		if status, text := q.request(ctx, server, method, path, body); status == 200 {
			return text
		}
	}
	return ""
}

// crowded is a client of both servers with a thread of its own.
type crowded struct {
	*pair
	thread  string
	sure    []int // the items whose runs were acknowledged
	runs    []string
	streams int
	waits   []time.Duration // for the first event of each stream: its run waits for a worker
	taken   []time.Duration // from a kill to the first event of the next attempt of a run
	resumed []time.Duration // from a kill to the next event of a run that went on
	several []time.Duration // from the first of several kills to the next event of a run
	failed  int             // runs that were begun as often as a run may be
}

// work creates runs on the thread until ctx ends, and reads the stream of every second one.
func (c *crowded) work(ctx, all context.Context, first int) {
	for item := 0; ctx.Err() == nil; item++ {
		server := first + item
		body := fmt.Sprintf(`{"assistant_id":"counting","input":{"item":%d},"stream_mode":"updates"}`, item)
		status, text := c.request(all, server, "POST", "/threads/"+c.thread+"/runs", body)
		switch {
		case status == 200:
			c.sure = append(c.sure, item)
			c.runs = append(c.runs, gjson.Get(text, "run_id").String())
		case status != 0 && status != 503:
			c.Errorf("the server answers a new run with status %d: %s", status, text)
			return
		}
		if n := len(c.runs); status == 200 && n%2 == 0 {
			c.readStream(all, server, c.runs[n-1])
		}
	}
}

// stream is what a client has of the events of a run.
type stream struct {
	*crowded
	run  string
	last int64     // the id of the newest event
	at   time.Time // of the newest event, or of the first request
	seen map[string]int
}

// readStream reads the events of a run to its end, and goes on at the other server when one dies.
func (c *crowded) readStream(ctx context.Context, server int, run string) {
	s := &stream{crowded: c, run: run, last: -1, at: time.Now(), seen: map[string]int{}}
	for ; ctx.Err() == nil; server++ {
		s.read(ctx, server)
		r := c.until(ctx, server+1, "GET", "/threads/"+c.thread+"/runs/"+run, "")
		switch status := gjson.Get(r, "status").String(); {
		case status == "error":
			return // see check
		case status != "success":
			continue
		}
		for ended := false; !ended && ctx.Err() == nil; server++ { // the stream may have been cut before
			ended = s.read(ctx, server)
		}
		for _, node := range []string{"before", "add", "after"} {
			if s.seen[node] != 1 && ctx.Err() == nil {
				c.Errorf("rule: a stream that is resumed has each step once; run %s has %v", run, s.seen)
			}
		}
		c.streams++
		return
	}
}

// arrived notes when an event arrived. again is true if another attempt of the run begins with it.
func (s *stream) arrived(again bool) {
	n, kill := s.killsSince(s.at)
	switch now := time.Now(); {
	case s.last < 0:
		s.waits = append(s.waits, now.Sub(s.at))
	case kill.IsZero():
	case n > 1:
		s.several = append(s.several, now.Sub(kill))
	case again: // an event of the attempt before may have arrived after the kill
		s.taken = append(s.taken, now.Sub(kill))
	case n == 1:
		s.resumed = append(s.resumed, now.Sub(kill))
	}
	s.at = time.Now()
}

// read reads events to the end of an answer. It returns false if the connection broke.
func (s *stream) read(ctx context.Context, server int) (ended bool) {
	req, err := http.NewRequestWithContext(ctx, "GET", s.url(server)+"/threads/"+s.thread+"/runs/"+s.run+"/stream?stream_mode=updates", nil)
	if err != nil {
		s.Error(err)
		return false
	}
	req.Header.Set("Last-Event-ID", strconv.FormatInt(s.last, 10))
	res, err := httpClient.Do(req)
	if err != nil {
		<-time.After(clientPause)
		return false
	}
	defer res.Body.Close()
	again := false // a new attempt of the run begins
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		for _, node := range []string{"before", "add", "after"} {
			if strings.HasPrefix(lines.Text(), `data: {"`+node+`":`) {
				s.seen[node]++
			}
		}
		again = again || strings.HasPrefix(lines.Text(), `data: {"run_id":`) && gjson.Get(lines.Text()[len("data: "):], "attempt").Int() > 1
		text, ok := strings.CutPrefix(lines.Text(), "id: ")
		if !ok {
			continue
		}
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil || id <= s.last {
			s.Errorf("rule: the ids of events only grow, at each server; in run %s event %q follows event %d", s.run, text, s.last)
		}
		s.arrived(again)
		s.last, again = id, false
	}
	return lines.Err() == nil && res.StatusCode == 200
}

// check compares what the thread has with what was acknowledged.
func (c *crowded) check(ctx context.Context) {
	c.Helper()
	if n := len(c.runs); n > 0 {
		c.until(ctx, 0, "GET", "/threads/"+c.thread+"/runs/"+c.runs[n-1]+"/join", "")
	}
	unfinished, tired := true, map[int]bool{}
	for ctx.Err() == nil && unfinished { // of the runs that were not acknowledged
		unfinished = false
		for _, r := range gjson.Get(c.until(ctx, 0, "GET", "/threads/"+c.thread+"/runs?limit=1000", ""), "@this").Array() {
			switch status := r.Get("status").String(); status {
			case "success":
			case "pending", "running":
				unfinished = true
			case "error":
				body := c.until(ctx, 0, "GET", "/threads/"+c.thread+"/runs/"+r.Get("run_id").String()+"/join", "")
				if gjson.Get(body, "__error__.error").String() != "RunAttemptsExceeded" {
					c.Errorf("rule: every run ends well; got %s", body)
					return
				}
				tired[int(r.Get("kwargs.input.item").Int())] = true
			default:
				c.Errorf("rule: every run ends well; got %s", status)
				return
			}
		}
	}
	c.failed = len(tired)
	var done []int
	for _, v := range gjson.Get(c.until(ctx, 0, "GET", "/threads/"+c.thread+"/state", ""), "values.done").Array() {
		done = append(done, int(v.Int()))
	}
	if !slices.IsSorted(done) || len(slices.Compact(slices.Clone(done))) != len(done) {
		c.Errorf("rule: the runs of a thread go in the order of their creation, each once; got %v", done)
	}
	for _, item := range c.sure {
		if _, found := slices.BinarySearch(done, item); !found && !tired[item] {
			c.Errorf("rule: no run is lost that was acknowledged; run %d is not in %v", item, done)
		}
	}
}

var (
	clients   = flag.Int("clients", 0, "how many clients TestServe_OneOfTwoIsKilled has; 0 means as many as suit a run of all tests")
	killPause = flag.Duration("pause", 800*time.Millisecond, "the longest time between two kills of TestServe_OneOfTwoIsKilled, of which half is the shortest")
)

// durableStores return the addresses of new stores that several processes can use.
var durableStores = map[string]func(*testing.T, place) string{
	"sqlite":   func(_ *testing.T, p place) string { return "sqlite:" + p.path("w.db") },
	"redis":    func(t *testing.T, _ place) string { return servertest.Redis(t) },
	"postgres": func(t *testing.T, _ place) string { return servertest.Postgres(t) },
}

// TestServe_OneOfTwoIsKilled kills one of two servers on a store, again and again. -kills 200 asks
// for 200 kills with each store, and WEFT_SOAK for 500, under 64 clients. -pause 4s leaves most
// runs one kill, so that the log shows how soon they go on.
//
// Requirement: the server is killed
func TestServe_OneOfTwoIsKilled(t *testing.T) {
	for name, store := range durableStores {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			p.write("w.yaml", counting)
			q := &pair{place: p, store: store(t, p)}
			q.startAt(0)
			q.startAt(1)
			q.killOneOfTwo(cmp.Or(*kills, racescale.Soak(3, 500)), cmp.Or(*clients, racescale.Soak(8, 64)), *killPause)
		})
	}
}

func (q *pair) killOneOfTwo(kills, clients int, pause time.Duration) {
	q.Helper()
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 0))
	all, cancel := context.WithTimeout(q.Context(), time.Minute+time.Duration(kills)*5*time.Second)
	defer cancel()
	working, stop := context.WithCancel(all)
	defer stop()
	var busy sync.WaitGroup
	crowd := make([]*crowded, clients)
	for i := range crowd {
		thread := gjson.Get(q.until(all, i, "POST", "/threads", "{}"), "thread_id").String()
		crowd[i] = &crowded{pair: q, thread: thread}
		busy.Go(func() { crowd[i].work(working, all, i) })
	}
	for range kills {
		<-time.After(pause/2 + time.Duration(r.Int64N(int64(pause/2))))
		i := r.IntN(2)
		q.mu.Lock()
		victim := q.servers[i]
		q.mu.Unlock()
		q.mu.Lock()
		q.killed = append(q.killed, time.Now())
		q.mu.Unlock()
		victim.kill()
		if text := victim.heard.rest(); text != "" {
			q.Logf("a server logged\n%.2000s", text)
		}
		q.startAt(i)
	}
	stop()
	busy.Wait()
	n, streams, failed := 0, 0, 0
	var waits, taken, resumed, several []time.Duration
	for _, c := range crowd {
		c.check(all)
		n, streams, failed = n+len(c.sure), streams+c.streams, failed+c.failed
		waits, taken = append(waits, c.waits...), append(taken, c.taken...)
		resumed, several = append(resumed, c.resumed...), append(several, c.several...)
	}
	if all.Err() != nil {
		q.Errorf("the clients did not end in time")
	}
	q.Logf("seed %d: %d kills, %d runs of %d clients, %d given up, %d streams", seed, kills, n, clients, failed, streams)
	for _, m := range []struct {
		what  string
		times []time.Duration
	}{
		{"streams waited for their first event", waits},
		{"runs were begun again; from the kill to the next event", taken},
		{"runs went on; from a kill to the next event", resumed},
		{"runs met several kills; from the first of them to the next event", several},
	} {
		slices.Sort(m.times)
		if n := len(m.times); n > 0 {
			q.Logf("%d %s: %v (p50), %v (p99), %v (longest)", n, m.what, m.times[n/2], m.times[n*99/100], m.times[n-1])
		}
	}
}
