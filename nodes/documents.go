package nodes

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/weftrun/weft/capabilities/retrieval"
	"github.com/weftrun/weft/capabilities/tool"
	"github.com/weftrun/weft/checkpoint/memory"
	"github.com/weftrun/weft/graph/workflow"
)

// The limits of Documents.
const (
	maxDocument  = 1 << 20  // bytes of a file
	maxDocuments = 1000     // files
	maxTexts     = 16 << 20 // bytes of all files
	maxHits      = 50
)

// Documents are text and Markdown files that a tool searches by words and, with an embedder, by
// meaning. Each entry is one tool with the argument query. Its result is a [DocumentsResult].
//
//	embedders: {small: {provider: openai, model: text-embedding-3-small, dims: 1536}}
//	tools:
//	  manual:
//	    description: Searches the manual
//	    documents: {files: ["docs/*.md"], embedder: small}
//
// The files are below the root folder of the workflow, also through links. They are cut into chunks
// and held in memory. Each search looks at them again, and asks the embedder only about files that
// have changed. If the embedder fails, words alone are used.
type Documents struct {
	// Files are patterns such as docs/*.md, at most 1000 files of 1 MiB and 16 MiB together.
	Files []string `json:"files"`
	// Embedder is an entry of embedders; "" searches by words alone.
	Embedder string `json:"embedder,omitempty"`
	// ChunkTokens limits a chunk; 0 is 400.
	ChunkTokens int `json:"chunk_tokens,omitempty"`
	// Limit is the greatest number of hits, at most 50; 0 is 5.
	Limit int `json:"limit,omitempty"`
}

// DocumentsResult is what a search has found.
type DocumentsResult struct {
	Hits []DocumentHit `json:"hits"`
	// Missing is why words or meaning are left out, such as the failure of the embedder.
	Missing string `json:"missing,omitempty"`
}

// DocumentHit is a part of a file.
type DocumentHit struct {
	File     string   `json:"file"` // below the root folder
	Line     int      `json:"line"` // where the part begins, from 1
	Headings []string `json:"headings,omitempty"`
	Text     string   `json:"text"`
	Score    float64  `json:"score"`
}

func (d *Documents) check() error {
	switch {
	case len(d.Files) == 0:
		return &refusal{"files must have a pattern such as docs/*.md"}
	case d.ChunkTokens < 0:
		return &refusal{fmt.Sprintf("chunk_tokens must not be negative (got %d)", d.ChunkTokens)}
	case d.Limit < 0 || d.Limit > maxHits:
		return &refusal{fmt.Sprintf("limit must be between 1 and %d (got %d)", maxHits, d.Limit)}
	}
	for _, p := range d.Files {
		if !filepath.IsLocal(filepath.FromSlash(p)) {
			return &refusal{fmt.Sprintf("files %s: it is outside of the workflow's folder", p)}
		}
		if _, err := filepath.Match(p, ""); err != nil {
			return &refusal{fmt.Sprintf("files %s: it is not a pattern", p)}
		}
	}
	return nil
}

// declaredDocuments are the documents of a file, as a tool.
type declaredDocuments struct {
	*ToolEntry
	info  tool.Info
	env   workflow.Env
	bound sync.Once
	store memory.Store // has the chunks; a *memory.Index with an embedder

	turn  chan struct{} // holds one element while a call looks at the files
	known map[string]document
}

// document is a file whose chunks are stored.
type document struct {
	hash    [sha256.Size]byte
	chunks  int
	indexed bool // all of them have vectors
}

func (t *ToolEntry) openDocuments(name string, env workflow.Env) *declaredDocuments {
	d := &declaredDocuments{ToolEntry: t, env: env, store: new(memory.Map), turn: make(chan struct{}, 1), known: map[string]document{}}
	d.info = tool.Info{
		Name: name, Description: t.Description, Timeout: time.Duration(t.Timeout), MaxResult: maxAnswer,
		Schema: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string","description":"what to look for"}},"required":["query"],"additionalProperties":false}`),
	}
	if d.info.Description == "" {
		d.info.Description = "Searches documents"
	}
	if t.Approve {
		d.info.Mode = tool.Permit
	}
	return d
}

// bind makes the documents use their embedder.
func (d *declaredDocuments) bind(entries *workflow.Entries) error {
	name := d.ToolEntry.Documents.Embedder
	if name == "" {
		return nil
	}
	v, ok, err := entries.Open(embeddersName, name)
	if err == nil && !ok {
		err = &refusal{fmt.Sprintf("tools.%s: there is no embedder %q; declare it under %s", d.info.Name, name, embeddersName)}
	}
	if err != nil {
		return err
	}
	d.bound.Do(func() { d.store = v.(*Embedding).Index(d.store, "text") })
	return nil
}

// Info implements [tool.Tool].
func (d *declaredDocuments) Info() tool.Info { return d.info }

// Call implements [tool.Tool].
func (d *declaredDocuments) Call(ctx context.Context, in tool.Input) (tool.Output, error) {
	var args struct{ Query string }
	if err := json.Unmarshal(in.Arguments, &args); err != nil {
		return nil, err
	}
	res, err := d.search(ctx, args.Query)
	env := d.env.Covered()
	if err != nil {
		return nil, errors.New(env.Redact(err.Error()))
	}
	res.Missing = env.Redact(res.Missing)
	data, err := json.Marshal(res)
	return tool.Text(string(data)), err
}

func (d *declaredDocuments) search(ctx context.Context, query string) (res DocumentsResult, err error) {
	late, err := d.update(ctx)
	if err != nil {
		return res, err
	}
	limit := d.ToolEntry.Documents.Limit
	if limit == 0 {
		limit = 5
	}
	found, err := retrieval.Search(ctx, d.store, retrieval.Query{Text: query, Limit: limit})
	if err != nil {
		return res, err
	}
	if err := errors.Join(late, found.Missing); err != nil {
		res.Missing = err.Error()
	}
	res.Hits = []DocumentHit{}
	for _, h := range found.Hits {
		var c retrieval.Chunk
		if err := json.Unmarshal(h.Value, &c); err != nil {
			return res, err
		}
		res.Hits = append(res.Hits, DocumentHit{strings.Join(h.Namespace, "/"), c.Line, c.Headings, c.Text, h.Score})
	}
	return res, nil
}

// update stores the chunks of files that have changed. missing is why some have no vectors.
func (d *declaredDocuments) update(ctx context.Context) (missing, err error) {
	select {
	case d.turn <- struct{}{}:
		defer func() { <-d.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	texts, err := d.ToolEntry.Documents.read(d.env.Root)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(d.known)) {
		if _, ok := texts[name]; !ok {
			if err := d.remove(ctx, name, 0); err != nil {
				return nil, err
			}
			delete(d.known, name)
		}
	}
	index, _ := d.store.(*memory.Index)
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		doc, hash := d.known[name], sha256.Sum256([]byte(texts[name]))
		switch _, ok := d.known[name]; {
		case !ok || doc.hash != hash:
			if doc, missing, err = d.put(ctx, index, name, texts[name]); err != nil {
				return nil, err
			}
			doc.hash = hash
		case !doc.indexed && missing == nil: // one failure is enough for a search
			_, missing = index.Reindex(ctx, strings.Split(name, "/"))
			doc.indexed = missing == nil
		}
		d.known[name] = doc
	}
	return missing, nil
}

// put stores the chunks of a file in place of those that it had.
func (d *declaredDocuments) put(ctx context.Context, index *memory.Index, name, text string) (doc document, missing, err error) {
	chunks, err := retrieval.Split(text, retrieval.Options{MaxTokens: d.ToolEntry.Documents.ChunkTokens})
	if err != nil {
		return doc, nil, fmt.Errorf("%s: %w", name, err)
	}
	if index != nil {
		index.Failed = func(_ []string, _ string, err error) { missing = err } // only calls in their turn put items
	}
	for from := 0; from < len(chunks); from += memory.MaxBatch {
		var ops []memory.Op
		for i, c := range chunks[from:min(from+memory.MaxBatch, len(chunks))] {
			value, err := json.Marshal(c)
			if err != nil {
				return doc, nil, err
			}
			ops = append(ops, memory.Op{Key: chunkKey(from + i), Value: value})
		}
		if _, err := d.store.Batch(ctx, strings.Split(name, "/"), ops); err != nil {
			return doc, nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	if err := d.remove(ctx, name, len(chunks)); err != nil {
		return doc, nil, err
	}
	return document{chunks: len(chunks), indexed: missing == nil}, missing, nil
}

func chunkKey(i int) string { return fmt.Sprintf("%06d", i) }

// remove removes the chunks of a file from the one with this number.
func (d *declaredDocuments) remove(ctx context.Context, name string, from int) error {
	for i := from; i < d.known[name].chunks; i++ {
		if err := d.store.Delete(ctx, strings.Split(name, "/"), chunkKey(i)); err != nil {
			return err
		}
	}
	return nil
}

// read returns the texts of the files below a folder, by their names.
func (d *Documents) read(folder string) (map[string]string, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	texts, size := map[string]string{}, 0
	for _, pattern := range d.Files {
		names, err := fs.Glob(root.FS(), pattern)
		if err != nil {
			return nil, &fileError{"read", pattern, folder, err}
		}
		for _, name := range names {
			if _, ok := texts[name]; ok {
				continue
			}
			data, err := readBelow(folder, name)
			switch {
			case err != nil:
				return nil, err
			case len(data) > maxDocument:
				err = fmt.Errorf("it is larger than %d bytes", maxDocument)
			case !utf8.Valid(data):
				err = errors.New("it is not UTF-8 text")
			case len(texts) == maxDocuments:
				err = fmt.Errorf("there are more than %d files", maxDocuments)
			case size+len(data) > maxTexts:
				err = fmt.Errorf("the files have more than %d bytes", maxTexts)
			}
			if err != nil {
				return nil, &fileError{"read", name, folder, err}
			}
			texts[name] = string(data)
			size += len(data)
		}
	}
	if len(texts) == 0 {
		return nil, &refusal{"no file matches " + strings.Join(d.Files, ", ")}
	}
	return texts, nil
}

var _ tool.Tool = (*declaredDocuments)(nil)
