package server

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/weftrun/weft/checkpoint/document"
)

// delivery is a webhook that is not delivered yet.
type delivery struct {
	URL      string          `json:"url"`
	Body     json.RawMessage `json:"body"`
	Attempts int             `json:"attempts"`
}

// webhooks delivers the ends of runs, and notices. Its documents are in the order in which they are
// due, so any process that works on the store finds those of a process that has ended.
type webhooks struct {
	docs     document.Store
	place    document.Place
	outbound Outbound
	client   *http.Client
	routes   http.Handler // for URLs that begin with a slash; may be nil
	secret   []byte
	now      func() time.Time
	failed   func(id string, err error) // is called when a webhook is given up

	after   *document.Position // where the next call of begin goes on; nil is the first
	slots   chan struct{}      // one for each attempt under way
	running sync.WaitGroup

	mu    sync.Mutex // also for failed
	open  map[string]bool
	hosts map[string]receiver // that have an attempt under way, or whose last one has failed
}

// receiver is a host that gets webhooks.
type receiver struct {
	open    int  // attempts under way
	failing bool // the last attempt has failed
}

const (
	webhooksAtOnce = 16
	// webhooksToFailing is how many attempts a host gets at once whose last one has failed: it
	// may take all the time of a request, and must leave slots to the others.
	webhooksToFailing = 2
	maxReceivers      = 10_000 // that have failed
)

const webhookClaim = 15 * time.Second // more than the time of a request

// webhookWaits are the times before the second and the third attempt.
var webhookWaits = []time.Duration{5 * time.Second, 20 * time.Second}

func newWebhooks(docs document.Store, c Config, failed func(string, error)) *webhooks {
	w := &webhooks{
		docs: docs, place: document.At("weft.webhooks", "all"), outbound: c.Webhooks.Outbound, client: c.Webhooks.Outbound.client(),
		secret: c.Webhooks.Secret, now: c.Now, failed: failed,
	}
	w.slots, w.open, w.hosts = make(chan struct{}, webhooksAtOnce), map[string]bool{}, map[string]receiver{}
	if c.Routes != nil {
		w.routes = c.Routes
	}
	if w.now == nil {
		w.now = time.Now
	}
	return w
}

// reach returns an ErrAddress for a URL to which nothing can be delivered.
func (w *webhooks) reach(text string) error {
	if text == "" || strings.HasPrefix(text, "/") && !strings.HasPrefix(text, "//") {
		return nil
	}
	return w.outbound.Check(text)
}

// check returns the error of a request with a URL to which nothing can be delivered.
func (w *webhooks) check(text string) error {
	if w.reach(text) != nil {
		return invalid("webhook must be a URL that the server may call (got %.200q)", text)
	}
	return nil
}

// add stores a webhook. The same id again is no second webhook.
func (w *webhooks) add(ctx context.Context, id, to string, body []byte) error {
	return ignoreConflict(w.put(ctx, id, to, body, new(uint64(0))))
}

// put stores a webhook. Without a version it replaces one with the same id that is not delivered
// yet, such as that of an attempt whose end was not stored.
func (w *webhooks) put(ctx context.Context, id, to string, body []byte, version *uint64) error {
	value, err := encode(delivery{URL: to, Body: body})
	if err != nil {
		return err
	}
	_, err = w.docs.Set(ctx, w.place, document.Change{ID: id, Value: value, Order: document.AtTime(w.now()), If: version})
	return err
}

// deliver delivers what is due. It returns the number of attempts that it made.
func (w *webhooks) deliver(ctx context.Context) (attempts int, err error) {
	var errs []error
	err = w.begin(ctx, "", func(made bool, err error) {
		if made {
			attempts++
		}
		errs = append(errs, err)
	})
	w.running.Wait()
	return attempts, errors.Join(append(errs, err)...)
}

// begin begins the attempts that are due, and calls ended for each: whether it was made, and an
// error of the store. Those of an earlier call may be under way. If notices is not "", it begins
// only those of notices to that URL.
func (w *webhooks) begin(ctx context.Context, notices string, ended func(made bool, err error)) error {
	const page, pages = 50, 20
	until := document.AtTime(w.now().Add(time.Nanosecond))
	after := w.after
	w.after = nil
	for range pages {
		docs, err := w.docs.Query(ctx, document.Query{Place: w.place, Until: until, After: after, Limit: new(page)})
		if err != nil {
			return err
		}
		for _, d := range docs {
			var job delivery
			err := json.Unmarshal(d.Value, &job)
			if notices != "" && (err != nil || job.URL != notices || !strings.HasPrefix(d.ID, noticePrefix)) {
				continue
			}
			if err != nil {
				if err := w.docs.Delete(ctx, w.place, d.ID); err != nil {
					return err
				}
				continue
			}
			if !w.enter(d.ID, job.host()) {
				continue
			}
			select {
			case w.slots <- struct{}{}:
			case <-ctx.Done():
				w.leave(d.ID, job.host(), false, nil)
				return ctx.Err()
			}
			w.running.Go(func() {
				defer func() { <-w.slots }()
				made, failure, err := w.attempt(ctx, d, job)
				w.leave(d.ID, job.host(), made, failure)
				w.mu.Lock()
				defer w.mu.Unlock()
				ended(made, err)
			})
		}
		if len(docs) < page {
			return nil
		}
		after = new(docs[len(docs)-1].Position())
	}
	w.after = after
	return nil
}

// enter reports whether an attempt may begin now. The caller then calls leave.
func (w *webhooks) enter(id, host string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.hosts[host]
	if w.open[id] || r.failing && r.open >= webhooksToFailing {
		return false
	}
	w.open[id] = true
	r.open++
	w.hosts[host] = r
	return true
}

// leave ends an attempt, which may not have been made.
func (w *webhooks) leave(id, host string, made bool, failure error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.open, id)
	r := w.hosts[host]
	r.open--
	if made {
		r.failing = failure != nil && len(w.hosts) <= maxReceivers
	}
	if w.hosts[host] = r; r.open == 0 && !r.failing {
		delete(w.hosts, host)
	}
}

// host returns the host of the URL, or a path of this server.
func (j delivery) host() string {
	u, err := url.Parse(j.URL)
	if err != nil {
		return ""
	}
	return cmp.Or(u.Host, u.Path)
}

// attempt claims a webhook and makes one attempt. made is false if another process has it, and
// failure is why the receiver has not got it.
func (w *webhooks) attempt(ctx context.Context, d document.Doc, job delivery) (made bool, failure, err error) {
	job.Attempts++
	d, err = w.move(ctx, d, job, webhookClaim)
	if errors.Is(err, document.ErrConflict) {
		return false, nil, nil
	}
	if err != nil {
		return false, nil, err
	}
	failure = w.send(ctx, d.ID, job)
	switch {
	case failure == nil:
	case ctx.Err() != nil:
		return true, nil, ctx.Err() // another process tries again
	case job.Attempts <= len(webhookWaits) && !errors.Is(failure, ErrAddress):
		_, err = w.move(ctx, d, job, webhookWaits[job.Attempts-1])
		return true, failure, ignoreConflict(err)
	default:
		w.mu.Lock()
		w.failed(d.ID, failure)
		w.mu.Unlock()
	}
	_, err = w.docs.Batch(ctx, w.place, []document.Change{{ID: d.ID, If: &d.Version}})
	return true, failure, ignoreConflict(err)
}

// move stores a webhook as due after some time.
func (w *webhooks) move(ctx context.Context, d document.Doc, job delivery, after time.Duration) (document.Doc, error) {
	value, err := encode(job)
	if err != nil {
		return d, err
	}
	return w.docs.Set(ctx, w.place, document.Change{
		ID: d.ID, Value: value, Order: document.AtTime(w.now().Add(after)), If: &d.Version,
	})
}

// send makes a request. Any status below 300 is a success.
func (w *webhooks) send(ctx context.Context, id string, job delivery) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, job.URL, bytes.NewReader(job.Body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Weft-Delivery", id)
	if len(w.secret) > 0 {
		mac := hmac.New(sha256.New, w.secret)
		mac.Write(job.Body)
		r.Header.Set("X-Weft-Signature", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	}
	status, err := w.roundTrip(r)
	if err == nil && status >= http.StatusMultipleChoices {
		err = fmt.Errorf("server: the webhook answered with status %d", status)
	}
	return err
}

func (w *webhooks) roundTrip(r *http.Request) (status int, err error) {
	if r.URL.Host == "" && strings.HasPrefix(r.URL.Path, "/") {
		if w.routes == nil {
			return http.StatusNotFound, nil
		}
		ctx, cancel := context.WithTimeout(r.Context(), outboundTime)
		defer cancel()
		return callRoute(w.routes, r.WithContext(ctx))
	}
	if err := w.outbound.checkURL(r); err != nil {
		return 0, err
	}
	answer, err := w.client.Do(r)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	_, _ = io.CopyN(io.Discard, answer.Body, outboundBytes)
	return answer.StatusCode, nil
}

// callRoute makes a request of a handler of this process, and returns the status of the answer. A
// panic of the handler is an error, as it is for a client in another process.
func callRoute(h http.Handler, r *http.Request) (status int, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("server: the handler of %s panicked: %v", r.URL.Path, v)
		}
	}()
	own := &recorder{ResponseWriter: discard{http.Header{}}}
	h.ServeHTTP(own, r)
	if own.status == 0 && r.Context().Err() != nil {
		return 0, r.Context().Err()
	}
	return max(own.status, http.StatusOK), nil
}
