package studio

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/weftrun/weft/graph"
	h "github.com/weftrun/weft/internal/markup"
)

// chatPath returns the address of the chat of a thread.
func (r *request) chatPath(id string) string { return r.threadPath(id) + "/chat" }

// back returns the page that a form of a thread leads to: the one that it was on.
func (r *request) back(id string) string {
	if r.PostForm.Get("view") == "chat" {
		return r.chatPath(id)
	}
	return r.threadPath(id)
}

// newChat is the page on which a chat begins.
func newChat(r *request) (view, error) {
	g, err := r.graph(r.PathValue("id"))
	if err != nil {
		return view{}, err
	}
	if g.Messages == "" {
		return view{}, noMessages(g.ID)
	}
	c := &composer{action: r.graphPath(g.ID) + "/chat", graph: g.ID, field: g.Messages}
	return view{"/graphs", "Chat with " + g.ID, h.Parts{
		h.P(h.Text("Begins a thread of "), link(r.graphPath(g.ID), g.ID), h.Text(" with a message.")),
		h.Custom("weft-chat", h.If(r.write, c.form())),
	}}, nil
}

func noMessages(graph string) error {
	return &requestError{http.StatusNotFound, fmt.Sprintf("the graph %.100q has no messages, so there is no chat with it", graph)}
}

// showChat is the page with the conversation of a thread.
func showChat(r *request) (view, error) {
	t, err := r.source.Thread(r.Context(), r.PathValue("id"))
	if err != nil {
		return view{}, err
	}
	c := &conversation{Thread: t}
	if err := c.read(r); err != nil {
		return view{}, err
	}
	return c.view(r), nil
}

// beginChat starts a run of a graph on a new thread, with a message.
func beginChat(r *request) (view, string, error) {
	g, err := r.graph(r.PathValue("id"))
	if err != nil {
		return view{}, "", err
	}
	if g.Messages == "" {
		return view{}, "", noMessages(g.ID)
	}
	said, err := r.message()
	if err != nil {
		return view{}, "", err
	}
	input, err := inputOf(g.Messages, said)
	if err != nil {
		return view{}, "", err
	}
	thread, err := r.source.Start(r.Context(), Start{Graph: g.ID, Input: input})
	if err != nil {
		return view{}, "", err
	}
	return view{}, r.chatPath(thread), nil
}

// sendMessage starts a run of a thread with a message. A message in place of an earlier one begins
// a branch before that one.
func sendMessage(r *request) (view, string, error) {
	at, err := r.at()
	if err != nil {
		return view{}, "", err
	}
	t, err := r.source.Thread(r.Context(), r.PathValue("id"))
	if err != nil {
		return view{}, "", err
	}
	if t.Graph == nil || t.Messages == "" {
		return view{}, "", noMessages(t.GraphID)
	}
	said, err := r.message()
	if err != nil {
		return view{}, "", err
	}
	messages := []any{said}
	if id := r.PostForm.Get("edit"); id != "" {
		begun, err := r.begunBy(t, at, id)
		if err != nil {
			return view{}, "", err
		}
		if at = parentOf(begun); at == 0 { // there is nothing before it
			at, messages = begun.Checkpoint, []any{map[string]string{"type": "remove", "id": id}, said}
		}
	}
	input, err := inputOf(t.Messages, messages...)
	if err != nil {
		return view{}, "", err
	}
	_, err = r.source.Start(r.Context(), Start{Graph: t.GraphID, Thread: t.ID, At: at, Input: input})
	return view{}, r.chatPath(t.ID), err
}

// inputOf returns the input of a run with messages.
func inputOf(field string, messages ...any) (json.RawMessage, error) {
	return json.Marshal(map[string]any{field: messages})
}

// maxFiles is how many files a message has at most.
const maxFiles = 8

// message reads a message of a form, with its files.
func (r *request) message() (map[string]any, error) {
	text := strings.TrimSpace(strings.ReplaceAll(r.PostForm.Get("message"), "\r\n", "\n"))
	var files []*multipart.FileHeader
	if r.MultipartForm != nil {
		for _, f := range r.MultipartForm.File["file"] {
			if f.Size > 0 || f.Filename != "" {
				files = append(files, f)
			}
		}
	}
	if len(files) > maxFiles {
		return nil, &requestError{http.StatusUnprocessableEntity, fmt.Sprintf("a message must have at most %d files (got %d)", maxFiles, len(files))}
	}
	if text == "" && len(files) == 0 {
		return nil, &requestError{http.StatusUnprocessableEntity, "the message is empty"}
	}
	if len(files) == 0 {
		return map[string]any{"role": string(roleUser), "content": text}, nil
	}
	parts := []any{map[string]string{"type": "text", "text": text}}
	if text == "" {
		parts = nil
	}
	for _, f := range files {
		part, err := partOf(f)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	return map[string]any{"role": string(roleUser), "content": parts}, nil
}

// partOf returns a file as a part of a message: an image, or text.
func partOf(f *multipart.FileHeader) (any, error) {
	file, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(file)
	if err != nil {
		return nil, err
	}
	kind := http.DetectContentType(data)
	switch {
	case h.IsImage(kind):
		return map[string]any{"type": "image_url", "image_url": map[string]string{"url": "data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(data)}}, nil
	case utf8.Valid(data):
		return map[string]string{"type": "text", "text": fmt.Sprintf("The file %s:\n\n%s", f.Filename, data)}, nil
	}
	return nil, &requestError{http.StatusUnprocessableEntity, fmt.Sprintf("the file %.100q must be an image (PNG, JPEG, GIF or WebP) or text", f.Filename)}
}

// begunBy returns the commit with which a message came into a branch: that of the input with it.
func (r *request) begunBy(t Thread, at uint64, id string) (c graph.CommitInfo, err error) {
	_, inputs, err := r.inputs(t, at)
	if err != nil {
		return c, err
	}
	low, high := 0, len(inputs) // a message stays once it is there
	for low < high {
		middle := (low + high) / 2
		list, err := messagesAt(r.Context(), t, inputs[middle].Checkpoint)
		if err != nil {
			return c, err
		}
		if indexOf(list, id) >= 0 {
			high = middle
		} else {
			low = middle + 1
		}
	}
	if low == len(inputs) {
		return c, &requestError{http.StatusConflict, "the message is not in the last turns of the thread any more"}
	}
	return inputs[low], nil
}
