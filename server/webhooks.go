package server

import (
	"bytes"
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
	"time"

	"github.com/weftrun/weft/checkpoint/document"
)

// delivery is a webhook that is not delivered yet.
type delivery struct {
	URL      string          `json:"url"`
	Body     json.RawMessage `json:"body"`
	Attempts int             `json:"attempts"`
}

// webhooks delivers the ends of runs. Its documents are in the order in which they are due, so any
// process that works on the store finds those of a process that has ended.
type webhooks struct {
	docs     document.Store
	place    document.Place
	outbound Outbound
	client   *http.Client
	routes   http.Handler // for URLs that begin with a slash; may be nil
	secret   []byte
	now      func() time.Time
	failed   func(id string, err error) // is called when a webhook is given up
}

const webhookClaim = 15 * time.Second // more than the time of a request

// webhookWaits are the times before the second and the third attempt.
var webhookWaits = []time.Duration{5 * time.Second, 20 * time.Second}

func newWebhooks(docs document.Store, c Config, failed func(string, error)) *webhooks {
	w := &webhooks{
		docs: docs, place: document.At("weft.webhooks", "all"), outbound: c.Webhooks.Outbound, client: c.Webhooks.Outbound.client(),
		secret: c.Webhooks.Secret, now: c.Now, failed: failed,
	}
	if c.Routes != nil {
		w.routes = c.Routes
	}
	if w.now == nil {
		w.now = time.Now
	}
	return w
}

// check returns the error of a URL to which nothing can be delivered.
func (w *webhooks) check(text string) error {
	if text == "" || strings.HasPrefix(text, "/") && !strings.HasPrefix(text, "//") {
		return nil
	}
	u, err := url.Parse(text)
	if err == nil {
		err = w.outbound.checkURL(&http.Request{URL: u})
	}
	if err != nil {
		return invalid("webhook must be a URL that the server may call (got %.200q)", text)
	}
	return nil
}

// add stores a webhook. The same id again is no second webhook.
func (w *webhooks) add(ctx context.Context, id, to string, body []byte) error {
	value, err := encode(delivery{URL: to, Body: body})
	if err != nil {
		return err
	}
	_, err = w.docs.Set(ctx, w.place, document.Change{ID: id, Value: value, Order: document.AtTime(w.now()), If: new(uint64(0))})
	if errors.Is(err, document.ErrConflict) {
		return nil
	}
	return err
}

// deliver delivers what is due. It returns the number of attempts that it made.
func (w *webhooks) deliver(ctx context.Context) (attempts int, err error) {
	const most = 20
	until := document.AtTime(w.now().Add(time.Nanosecond))
	docs, err := w.docs.Query(ctx, document.Query{Place: w.place, Until: until, Limit: new(most)})
	for i := 0; i < len(docs) && err == nil; i++ {
		var claimed bool
		if claimed, err = w.attempt(ctx, docs[i]); claimed {
			attempts++
		}
	}
	return attempts, err
}

// attempt claims a webhook and makes one attempt. claimed is false if another process has it.
func (w *webhooks) attempt(ctx context.Context, d document.Doc) (claimed bool, err error) {
	var job delivery
	if err := json.Unmarshal(d.Value, &job); err != nil {
		return false, w.docs.Delete(ctx, w.place, d.ID)
	}
	job.Attempts++
	d, err = w.move(ctx, d, job, webhookClaim)
	if errors.Is(err, document.ErrConflict) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	failure := w.send(ctx, d.ID, job)
	switch {
	case failure == nil:
	case ctx.Err() != nil:
		return true, ctx.Err() // another process tries again
	case job.Attempts <= len(webhookWaits) && !errors.Is(failure, ErrAddress):
		_, err = w.move(ctx, d, job, webhookWaits[job.Attempts-1])
		return true, ignoreConflict(err)
	default:
		w.failed(d.ID, failure)
	}
	_, err = w.docs.Batch(ctx, w.place, []document.Change{{ID: d.ID, If: &d.Version}})
	return true, ignoreConflict(err)
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
		own := &recorder{ResponseWriter: discard{http.Header{}}}
		w.routes.ServeHTTP(own, r)
		return max(own.status, http.StatusOK), nil
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
