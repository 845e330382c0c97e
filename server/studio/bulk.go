package studio

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

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

// maxExport is how many bytes the files of an export have at most, compressed.
const maxExport = 64 << 20

// export answers with a ZIP of the threads of a form, each as the file that weft import reads.
func (s *Handler) export(w http.ResponseWriter, req *http.Request) {
	var file bytes.Buffer
	_, _, err := s.take(w, req, func(r *request) (view, string, error) {
		ids, err := r.selected()
		if err != nil {
			return view{}, "", err
		}
		return view{}, "", r.zip(&file, ids)
	})
	if err != nil {
		s.fail(w, req, err)
		return
	}
	w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": "threads.zip"}))
	w.Header().Set("Content-Type", "application/zip")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(file.Bytes()) // the client is gone
}

// zip writes the files of threads. Those without a checkpoint are left out.
func (r *request) zip(file *bytes.Buffer, ids []string) error {
	out, found := zip.NewWriter(&limited{file}), 0
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
			err = checkpoint.Export(r.Context(), t.Store, t.ID, entry)
		}
		if large := (*requestError)(nil); errors.As(err, &large) {
			return large
		}
		if err != nil {
			return err
		}
		found++
	}
	if found == 0 {
		return &requestError{http.StatusUnprocessableEntity, "none of these threads has a checkpoint"}
	}
	return out.Close()
}

// limited is a buffer of at most maxExport bytes.
type limited struct{ *bytes.Buffer }

func (l *limited) Write(p []byte) (int, error) {
	if l.Len()+len(p) > maxExport {
		return 0, &requestError{http.StatusUnprocessableEntity, fmt.Sprintf("the files have more than %d MiB; export fewer threads, or use weft export", maxExport>>20)}
	}
	return l.Buffer.Write(p)
}
