package studio

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/schedule"
)

// threadList is a page of the list of threads.
type threadList struct {
	query   Query
	state   *stateFilter // nil without one
	threads []Thread
	extents []*extent // of the threads; see request.extents
	looked  int       // at how many threads from the offset on
	total   int       // of those that the query selects, whatever their states
}

// threads reads the page of the list that the address selects.
func (r *request) threads() (l threadList, err error) {
	if l.query, err = r.threadQuery(); err != nil {
		return l, err
	}
	if l.state, err = r.stateFilter(); err != nil {
		return l, err
	}
	if l.state != nil {
		l.query.Limit = stateScan
	}
	if l.threads, l.total, err = r.source.Threads(r.Context(), l.query); err != nil {
		return l, err
	}
	if l.state != nil {
		err = r.withState(&l)
		return l, err
	}
	l.looked = len(l.threads)
	l.extents, err = r.extents(l.threads)
	return l, err
}

// extent is how far a thread has come, and how much its newest checkpoint has stored.
type extent struct {
	Turns int `json:"turns,omitempty"`
	Steps int `json:"steps,omitempty"`
	Bytes int `json:"bytes,omitempty"` // of the state
}

// extentOf reads the record of the newest checkpoint of a thread, and no value of its state. ok is
// false if there is no checkpoint yet.
func extentOf(ctx context.Context, t Thread) (e extent, ok bool, err error) {
	for snap, err := range t.Store.History(ctx, checkpoint.Key{Thread: t.ID}, checkpoint.Query{Limit: 1}) {
		if err != nil {
			return e, false, err
		}
		rec, err := checkpoint.ReadRecord(snap)
		if err != nil {
			return e, false, err
		}
		e = extent{Turns: rec.Turn, Steps: rec.Step}
		for _, f := range rec.Fields {
			e.Bytes += f.BaseBytes + f.ChunkBytes
		}
		return e, true, nil
	}
	return e, false, nil
}

// readsAtOnce is how many records a list reads at the same time.
const readsAtOnce = 8

// isOfThread reports whether an error is of what is stored for one thread, so that others can be
// read. Any other error is of the store or of the request.
func isOfThread(err error) bool {
	return slices.ContainsFunc([]error{
		graph.ErrUnknownThread, checkpoint.ErrCorrupt, checkpoint.ErrUnsupported, checkpoint.ErrSchema, checkpoint.ErrNewerSchema, checkpoint.ErrKey, checkpoint.ErrNoBlobs,
	}, func(one error) bool { return errors.Is(err, one) })
}

// extents returns the extents of the threads of a page; nil for one without a checkpoint, or whose
// newest record cannot be read.
func (r *request) extents(threads []Thread) ([]*extent, error) {
	all, errs := make([]*extent, len(threads)), make([]error, readsAtOnce)
	var readers []func()
	for first := range min(readsAtOnce, len(threads)) {
		readers = append(readers, func() {
			for i := first; i < len(threads) && errs[first] == nil; i += readsAtOnce {
				e, ok, err := extentOf(r.Context(), threads[i])
				if err != nil && !isOfThread(err) {
					errs[first] = err
				} else if ok {
					all[i] = &e
				}
			}
		})
	}
	schedule.AtOnce(readers...)
	return all, errors.Join(errs...)
}

// What a page of the list reads at most to find threads by their states: threads, and bytes of
// stored states, of which the last may be beyond.
const (
	stateScan  = 200
	stateBytes = 64 << 20
)

// stateFilter selects threads that have a value at a path of their newest states, such as
// options.style. Where the path leads to a list, one of its items must be equal to the value.
type stateFilter struct {
	path string
	want gjson.Result // does not exist if any value but null is enough
}

// stateFilter reads the filter ?state=PATH or ?state=PATH=VALUE; nil without one.
func (r *request) stateFilter() (*stateFilter, error) {
	text := strings.TrimSpace(r.URL.Query().Get("state"))
	if text == "" {
		return nil, nil
	}
	path, value, valued, err := cutPath(text)
	if err != nil {
		return nil, err
	}
	f := &stateFilter{path: path}
	if valued {
		f.want = gjson.ParseBytes(scalar(value))
	}
	return f, nil
}

// syntax are the characters of a gjson path that begin a modifier, a literal, a list or object of
// several paths, a query or a pipe. The results of these may be larger than the state by orders of
// magnitude.
const syntax = "@![{(|"

// cutPath cuts PATH=VALUE at its first "=" that is not escaped by "\\". A path has names, which may
// have the wildcards "*" and "?", indexes and "#".
func cutPath(text string) (path, value string, valued bool, err error) {
	path = text
	for i := 0; i < len(text); i++ {
		if c := text[i]; c == '\\' {
			i++
		} else if c == '=' {
			path, value, valued = text[:i], text[i+1:], true
			break
		} else if strings.IndexByte(syntax, c) >= 0 {
			return "", "", false, &requestError{http.StatusBadRequest, fmt.Sprintf("state: the path must have %[1]q as %[2]q (got %.100[3]q)", string(c), `\`+string(c), text)}
		}
	}
	if path == "" || len(path) > 200 {
		return "", "", false, &requestError{http.StatusBadRequest, fmt.Sprintf("state must be PATH or PATH=VALUE, with a path of 1 to 200 bytes (got %.100q)", text)}
	}
	return path, value, valued, nil
}

// selects reports whether the filter selects a state.
func (f *stateFilter) selects(state json.RawMessage) bool {
	found := gjson.GetBytes(state, f.path)
	switch {
	case !f.want.Exists():
		return found.Exists() && found.Type != gjson.Null
	case found.IsArray():
		return slices.ContainsFunc(found.Array(), func(item gjson.Result) bool { return sameScalar(item, f.want) })
	}
	return found.Exists() && sameScalar(found, f.want)
}

// sameScalar reports whether two values are the same text, number, boolean or null.
func sameScalar(a, b gjson.Result) bool {
	switch {
	case a.Type != b.Type:
		return false
	case a.Type == gjson.String:
		return a.Str == b.Str
	case a.Type == gjson.Number && strings.ContainsAny(a.Raw+b.Raw, ".eE"):
		return a.Num == b.Num
	}
	return a.Raw == b.Raw // integers may have more digits than a float64
}

// withState leaves the threads in l that its filter selects, at most a page of them.
func (r *request) withState(l *threadList) error {
	all, bytes := l.threads, 0
	l.threads = nil
	for _, t := range all {
		if len(l.threads) == threadsPage || bytes > stateBytes {
			break
		}
		l.looked++
		e, ok, err := extentOf(r.Context(), t)
		if err != nil && !isOfThread(err) {
			return err
		}
		if !ok {
			continue
		}
		bytes += e.Bytes
		has, err := r.hasState(t.ID, l.state)
		if err != nil {
			return err
		}
		if has {
			l.threads, l.extents = append(l.threads, t), append(l.extents, &e)
		}
	}
	return nil
}

// hasState reports whether the filter selects the newest state of a thread. It selects none whose
// graph is not served, that the caller must not read, that cannot be read or that was removed
// meanwhile.
func (r *request) hasState(id string, f *stateFilter) (bool, error) {
	t, err := r.source.Thread(r.Context(), id)
	if err != nil {
		if status, _ := r.fault(err); status == http.StatusNotFound || status == http.StatusForbidden {
			return false, nil
		}
		return false, err
	}
	if t.Graph == nil {
		return false, nil
	}
	state, _, err := t.Graph.Thread(id).State(r.Context(), 0)
	if isOfThread(err) {
		return false, nil
	}
	return err == nil && f.selects(state), err
}
