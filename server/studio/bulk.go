package studio

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weftrun/weft/checkpoint"
	h "github.com/weftrun/weft/internal/markup"
)

// bulkAct is what can be done with several threads.
type bulkAct struct {
	name, text string // of the button
	done       string // of each thread
	warning    string // of an act that must be confirmed; "" for another
	do         func(Source, context.Context, string) error
}

// bulkActs are in the order of the buttons.
var bulkActs = []bulkAct{
	{"cancel", "Cancel their runs", "cancelled", "", Source.Cancel},
	{"prune", "Prune", "pruned", "Removes all checkpoints of these threads but the newest of each.", Source.Prune},
	{"delete", "Delete", "deleted", "Removes these threads with their histories.", Source.Remove},
}

// picked is the box that selects a thread of the list.
func picked(id string) h.Part {
	return h.Label(h.Class("pick"), h.Input(h.Type("checkbox"), h.Name("thread"), h.Value(id)), h.Span(h.Class("unseen"), h.Text("Select "+id)))
}

// pickAll is the head of the column of boxes. A script makes its box select all of the page.
func pickAll() h.Part {
	return h.Parts{h.Span(h.Class("unscripted"), h.Text("Select")),
		h.Label(h.Class("pick", "scripted"), h.Input(h.Type("checkbox"), h.Data("all", "thread")), h.Span(h.Class("unseen"), h.Text("Select all threads of this page")))}
}

// bulkForm is a list of threads with the buttons for those that are selected.
func (r *request) bulkForm(list h.Part) h.Part {
	if !r.write {
		return list
	}
	return h.Form(h.Method("post"), h.Action(r.base+"/threads"), list, h.Div(h.Class("buttons"), h.Role("group"), h.Aria("label", "With the selected threads"),
		h.Span(h.Text("Selected threads:")), h.Button(h.FormAction(r.base+"/threads/export"), h.Text("Export")),
		h.Each(bulkActs, func(a bulkAct) h.Part {
			return h.Button(h.If(a.warning != "", h.Class("danger")), h.Name("do"), h.Value(a.name), h.Text(a.text))
		})))
}

// selected returns the threads of a form.
func (r *request) selected() ([]string, error) {
	ids := slices.Compact(slices.Sorted(slices.Values(r.PostForm["thread"])))
	if len(ids) == 0 || len(ids) > threadsPage {
		return nil, &requestError{http.StatusUnprocessableEntity, fmt.Sprintf("select 1 to %d threads (got %d)", threadsPage, len(ids))}
	}
	return ids, nil
}

// bulk does something with the threads of a form, once it is confirmed where it must be.
func bulk(r *request) (view, string, error) {
	ids, err := r.selected()
	if err != nil {
		return view{}, "", err
	}
	i := slices.IndexFunc(bulkActs, func(a bulkAct) bool { return a.name == r.PostForm.Get("do") })
	if i < 0 {
		return view{}, "", &requestError{http.StatusUnprocessableEntity, fmt.Sprintf("do must be cancel, prune or delete (got %.100q)", r.PostForm.Get("do"))}
	}
	a := bulkActs[i]
	if a.warning != "" {
		words := fmt.Sprintf("%s %d", a.name, len(ids))
		typed, asked := strings.TrimSpace(r.PostForm.Get("confirm")), r.PostForm.Has("confirm")
		if typed != words && asked {
			return view{}, "", &wrongForm{view: r.confirmBulk(a, ids, words, fmt.Sprintf("type %q to confirm (got %.100q)", words, typed))}
		}
		if !asked {
			return r.confirmBulk(a, ids, words, ""), "", nil
		}
	}
	failed := 0
	var rows h.Parts
	for _, id := range ids {
		outcome := h.Td(h.Text(a.done))
		if err := a.do(r.source, r.Context(), id); err != nil {
			_, text := r.fault(err)
			failed, outcome = failed+1, h.Td(h.Class("wide", "mistake"), h.Text(text))
		}
		rows = append(rows, h.Tr(h.Th(h.Scope("row"), h.Text(id)), outcome))
	}
	if failed == 0 {
		return view{}, r.base + "/threads", nil
	}
	return view{"/threads", a.text, h.Parts{
		h.P(h.Class("error"), h.Role("alert"), h.Text(fmt.Sprintf("%d of %s failed.", failed, plural(len(ids), "thread", "threads")))),
		scroll("Table of threads", h.Table(heads("Thread", "Outcome"), h.Tbody(rows))), h.P(link(r.base+"/threads", "All threads")),
	}}, "", nil
}

// confirmBulk is the page that asks for words before an act.
func (r *request) confirmBulk(a bulkAct, ids []string, words, mistake string) view {
	return view{"/threads", a.text + " " + plural(len(ids), "thread", "threads"), h.Parts{
		h.If(mistake != "", h.P(h.Class("error"), h.Role("alert"), h.Text(mistake))),
		h.P(h.Text(a.warning)), h.Ul(h.Each(ids, func(id string) h.Part { return h.Li(link(r.threadPath(id), id)) })),
		h.Form(h.Method("post"), h.Action(r.base+"/threads"), h.Each(ids, func(id string) h.Part { return hidden("thread", id) }), hidden("do", a.name),
			textField("Type “"+words+"” to confirm", "confirm", "", true), send("danger", a.text)),
		h.P(link(r.base+"/threads", "All threads")),
	}}
}

// What the files of an export have at most, in bytes.
const (
	maxPlain    = 1 << 30
	maxExport   = 64 << 20 // compressed
	exportChunk = 1 << 20  // is sent within writeTimeout
)

// export answers with a ZIP of the threads of a form, each as the file that weft import reads.
func (s *Handler) export(w http.ResponseWriter, req *http.Request) {
	_, _, err := s.take(w, req, func(r *request) (view, string, error) {
		ids, err := r.selected()
		if err == nil {
			err = s.exportThreads(w, r, ids)
		}
		return view{}, "", err
	})
	if err != nil {
		s.fail(w, req, err)
	}
}

// exportThreads answers with threads. There is one export at a time, as it is in memory until it
// is sent.
func (s *Handler) exportThreads(w http.ResponseWriter, r *request, ids []string) error {
	if !s.exporting.CompareAndSwap(false, true) {
		w.Header().Set("Retry-After", "1")
		return &requestError{http.StatusTooManyRequests, "another export is under way; try again later"}
	}
	defer s.exporting.Store(false)
	var file bytes.Buffer
	if err := r.zip(&limited{&file, maxExport}, ids, maxPlain); err != nil {
		return err
	}
	w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": "threads.zip"}))
	w.Header().Set("Content-Type", "application/zip")
	w.Header().Set("Content-Length", strconv.Itoa(file.Len()))
	w.Header().Set("Cache-Control", "no-store")
	control := http.NewResponseController(w)
	defer func() { _ = control.SetWriteDeadline(time.Time{}) }()
	for chunk := range slices.Chunk(file.Bytes(), exportChunk) {
		_ = control.SetWriteDeadline(time.Now().Add(writeTimeout)) // not every writer has deadlines
		if _, err := w.Write(chunk); err != nil {
			return nil // the client is gone, or too slow
		}
	}
	return nil
}

// zip writes the files of threads, of at most plain bytes together. Threads without a checkpoint
// are left out.
func (r *request) zip(file io.Writer, ids []string, plain int) error {
	out, found := zip.NewWriter(file), 0
	for i, id := range ids {
		t, err := r.source.Thread(r.Context(), id)
		if err != nil {
			return err
		}
		if _, err = t.Store.Load(r.Context(), checkpoint.Key{Thread: t.ID}, 0); errors.Is(err, checkpoint.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		name := url.PathEscape(t.ID)
		entry, err := out.Create(fmt.Sprintf("%02d-%s.jsonl", i+1, name[:min(len(name), 150)]))
		if err == nil {
			text := &limited{entry, plain}
			err = checkpoint.Export(r.Context(), t.Store, t.ID, text)
			plain = text.left
		}
		if err != nil {
			return tooLarge(err)
		}
		found++
	}
	if found == 0 {
		return &requestError{http.StatusUnprocessableEntity, "none of these threads has a checkpoint"}
	}
	return tooLarge(out.Close())
}

// errLimited is returned when a limited writer would get too many bytes.
var errLimited = errors.New("there are too many bytes")

// tooLarge returns an error of a limited writer as that of a request.
func tooLarge(err error) error {
	if !errors.Is(err, errLimited) {
		return err
	}
	return &requestError{http.StatusUnprocessableEntity, fmt.Sprintf("the files have more than %d MiB, or %d MiB compressed; export fewer threads, or use weft export",
		maxPlain>>20, maxExport>>20)}
}

// limited is a writer that takes at most left bytes.
type limited struct {
	io.Writer
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	if len(p) > l.left {
		return 0, errLimited
	}
	l.left -= len(p)
	return l.Writer.Write(p)
}
