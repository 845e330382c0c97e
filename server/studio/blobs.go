package studio

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"

	h "github.com/weftrun/weft/internal/markup"
	"github.com/weftrun/weft/state"
)

// maxBlobs is how many blobs of a field a page shows.
const maxBlobs = 20

// blobsIn returns the first blobs that a value names, in the order of its JSON with sorted keys.
func blobsIn(value json.RawMessage) (refs []state.BlobRef) {
	if !bytes.Contains(value, []byte(`"$blob"`)) {
		return nil
	}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, item := range v {
				walk(item)
			}
		case map[string]any:
			if ref, ok := blobRef(v); ok && len(refs) < maxBlobs {
				refs = append(refs, ref)
			}
			for _, name := range slices.Sorted(maps.Keys(v)) {
				walk(v[name])
			}
		}
	}
	var all any
	if json.Unmarshal(value, &all) == nil {
		walk(all)
	}
	return refs
}

// blobRef returns the blob that an object is.
func blobRef(object map[string]any) (ref state.BlobRef, ok bool) {
	ref.Hash, _ = object["$blob"].(string)
	size, sized := object["size"].(float64)
	ref.Size = int64(size)
	ref.Type, _ = object["type"].(string)
	return ref, sized && ref.Hash != ""
}

// blobs are links to the blobs of a field, with the pictures among them.
func (p *threadPage) blobs(r *request, f field) h.Part {
	return h.Each(f.Blobs, func(ref state.BlobRef) h.Part {
		address := r.base + escapedPath("threads", p.ID, "blobs", ref.Hash)
		about := "blob"
		if ref.Type != "" {
			about = ref.Type
		}
		about = fmt.Sprintf("%s of %s", about, bytesText(int(ref.Size)))
		if !h.IsImage(ref.Type) {
			return h.P(h.Class("blob"), link(address, "download "+about))
		}
		return h.P(h.Class("blob"), h.A(h.Href(address), h.Img(h.Src(address+"?type="+url.QueryEscape(ref.Type)), h.Alt(about))))
	})
}

// blob answers with the content of a blob of a thread.
func (s *Handler) blob(w http.ResponseWriter, r *http.Request) {
	source, err := s.config.Open(r)
	if err == nil {
		err = source.ServeBlob(w, r, r.PathValue("id"), r.PathValue("hash"))
	}
	if err != nil {
		s.fail(w, r, err)
	}
}
