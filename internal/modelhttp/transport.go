package modelhttp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/weftrun/weft/capabilities/model"
)

// MaxEvent limits one event of a stream, and an answer that is not streamed, in bytes.
const MaxEvent = 2 * model.MaxAnswer

// maxError limits how much of an error response is read, in bytes.
const maxError = 1 << 20

var (
	errLarge = fmt.Errorf("an event is larger than %d bytes", MaxEvent)
	errIdle  = errors.New("the server is silent")
	errLate  = errors.New("the answer takes too long")
	errEnded = errors.New("the answer has ended")
	errCut   = errors.New("the connection ended before the answer did")
)

// HTTP returns the client that a provider's library uses.
func (c *Client) HTTP() *http.Client {
	client := *c.cfg.Client
	next := client.Transport
	if next == nil {
		next = http.DefaultTransport
	}
	client.Transport = transport{c, next}
	return &client
}

// Do calls f with a context that ends with the answer's time limit. An error of f becomes a failure
// of the model of that name, or the error of outer if that has ended.
func (c *Client) Do(outer context.Context, name string, f func(context.Context) error) error {
	return c.do(outer, name, &call{media: c.cfg.Media}, f)
}

// DoWhole is Do for an answer in one piece of JSON, whatever Config.Media are.
func (c *Client) DoWhole(outer context.Context, name string, f func(context.Context) error) error {
	return c.do(outer, name, &call{media: []string{"application/json"}}, f)
}

func (c *Client) do(outer context.Context, name string, own *call, f func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(context.WithValue(outer, callKey{}, own))
	defer cancel(errEnded)
	late := time.AfterFunc(c.cfg.Timeout, func() { cancel(errLate) })
	defer late.Stop()
	err := f(ctx)
	var failed *model.Error
	switch {
	case err == nil:
		return nil
	case outer.Err() != nil:
		return context.Cause(outer)
	case errors.Is(context.Cause(ctx), errLate):
		return &model.Error{Kind: model.Timeout, Model: name, Message: errLate.Error()}
	case errors.As(err, &failed):
		failed.Model = cmp.Or(failed.Model, name)
		return failed
	}
	failed = c.failure(err, model.Unreachable)
	failed.Model = name
	return failed
}

// call is what the transport knows of a call of Do. One goroutine uses it.
type call struct {
	media []string // of the answer
	torn  bool
}

type callKey struct{}

// Torn reports whether the response of the call of Do ended within an event.
func Torn(ctx context.Context) bool {
	c, _ := ctx.Value(callKey{}).(*call)
	return c != nil && c.torn
}

// CutOff returns the failure of an answer that has no end.
func CutOff() *model.Error { return &model.Error{Kind: model.CutOff, Message: errCut.Error()} }

// failure classifies an error of the connection. kind is that of an unknown error.
func (c *Client) failure(err error, kind model.Kind) *model.Error {
	var timeout net.Error
	switch {
	case errors.Is(err, errIdle):
		kind, err = model.Timeout, errIdle
	case errors.Is(err, errLarge):
		kind = model.BadAnswer
	case errors.As(err, &timeout) && timeout.Timeout():
		kind = model.Timeout
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		kind, err = model.CutOff, errCut
	}
	var at *url.Error
	if errors.As(err, &at) {
		err = at.Err // the address may hold a key
	}
	return &model.Error{Kind: kind, Message: c.Clean(err.Error())}
}

// transport turns error responses and broken connections into failures.
type transport struct {
	c    *Client
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	idle := time.AfterFunc(t.c.cfg.Idle, func() { cancel(errIdle) })
	stop := func() { idle.Stop(); cancel(errEnded) }
	res, err := t.next.RoundTrip(req.WithContext(ctx))
	if err != nil {
		silent := errors.Is(context.Cause(ctx), errIdle)
		stop()
		if silent {
			err = errIdle
		}
		return nil, t.c.failure(err, model.Unreachable)
	}
	body := &body{c: t.c, from: res.Body, ctx: ctx, idle: idle, stop: stop}
	res.Body = body
	if redirects(res) {
		return res, nil
	}
	if failed := t.failed(res, body); failed != nil {
		_ = body.Close()
		return nil, failed
	}
	return res, nil
}

func redirects(res *http.Response) bool {
	return res.StatusCode >= 300 && res.StatusCode < 400 && res.Header.Get("Location") != ""
}

// failed returns the failure that a response reports, or nil for an answer.
func (t transport) failed(res *http.Response, body io.Reader) error {
	media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	wanted := t.c.cfg.Media
	if c, ok := res.Request.Context().Value(callKey{}).(*call); ok {
		wanted = c.media
	}
	if res.StatusCode == http.StatusOK && (media == "" || slices.Contains(wanted, media)) {
		return nil
	}
	head, err := io.ReadAll(io.LimitReader(body, maxError))
	if err != nil && len(head) == 0 && res.StatusCode == http.StatusOK {
		return err
	}
	if res.StatusCode == http.StatusOK && media != "application/json" {
		return t.c.Bad("the answer is %s: %s", media, head)
	}
	status := res.StatusCode
	if status == http.StatusOK {
		status = 0
	}
	failed := t.c.cfg.Failed(status, head)
	failed.Message = t.c.Clean(failed.Message)
	failed.Status = cmp.Or(failed.Status, status)
	failed.Wait = max(failed.Wait, RetryAfter(res.Header, t.c.cfg.Now()))
	return failed
}

// body limits the pauses of a response and the size of its events.
type body struct {
	c     *Client
	from  io.ReadCloser
	ctx   context.Context
	idle  *time.Timer
	stop  func()
	size  int  // of the event so far
	blank bool // the last line was empty so far
}

// Read implements io.Reader. The time between two calls is the caller's, not the server's.
func (b *body) Read(p []byte) (int, error) {
	b.idle.Reset(b.c.cfg.Idle)
	n, err := b.from.Read(p)
	b.idle.Stop()
	b.count(p[:n])
	if c, ok := b.ctx.Value(callKey{}).(*call); ok && err != nil {
		c.torn = !b.blank
	}
	switch {
	case b.size > MaxEvent:
		return 0, b.c.failure(errLarge, model.BadAnswer)
	case err == nil || err == io.EOF:
		return n, err
	case errors.Is(context.Cause(b.ctx), errIdle):
		err = errIdle
	}
	return n, b.c.failure(err, model.CutOff)
}

// count counts the bytes since the last empty line, which ends an event.
func (b *body) count(p []byte) {
	for _, ch := range p {
		switch {
		case ch == '\n' && b.blank:
			b.size = 0
		case ch == '\n':
			b.blank = true
		case ch != '\r':
			b.blank = false
		}
		b.size++
	}
}

// Close implements io.Closer.
func (b *body) Close() error {
	err := b.from.Close()
	b.stop()
	return err
}

// RetryAfter returns how long a server asks to wait, up to a day, or 0.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	var d time.Duration
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil {
		d = scale(ms, time.Millisecond)
	} else if s, err := strconv.ParseFloat(h.Get("Retry-After"), 64); err == nil {
		d = scale(s, time.Second)
	} else if at, err := http.ParseTime(h.Get("Retry-After")); err == nil {
		d = at.Sub(now)
	}
	return min(max(d, 0), 24*time.Hour)
}

// scale returns n units, at most a little more than a day; 0 for a value that is no number.
func scale(n float64, unit time.Duration) time.Duration {
	if !(n > 0) {
		return 0
	}
	return time.Duration(min(n, float64(25*time.Hour/unit)) * float64(unit))
}
