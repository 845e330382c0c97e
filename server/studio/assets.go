package studio

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"

	"github.com/weftrun/weft/internal/picture"
)

//go:embed web
var embedded embed.FS

// asset is a file that pages load: a style sheet, a module or a picture.
type asset struct {
	kind       string // of its content
	data, gzip []byte // gzip is nil where it is not shorter
}

// assets are the files by their names, and a hash of them all, which is in their addresses.
type assets struct {
	files map[string]asset
	hash  string
}

// kinds are the media types of assets.
var kinds = map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}

// loadAssets reads the folder web of a file system.
func loadAssets(files fs.FS) (*assets, error) {
	all, sum := &assets{files: map[string]asset{}}, sha256.New()
	err := fs.WalkDir(files, "web", func(name string, entry fs.DirEntry, err error) error {
		kind := kinds[path.Ext(name)]
		if err != nil || entry.IsDir() || kind == "" {
			return err
		}
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		name = strings.TrimPrefix(name, "web/")
		if name == "studio.css" {
			data = append([]byte(picture.CSS()), data...)
		}
		sum.Write([]byte(name + "\x00"))
		sum.Write(data)
		all.files[name] = asset{kind: kind, data: data, gzip: compressed(data)}
		return nil
	})
	all.hash = hex.EncodeToString(sum.Sum(nil)[:6])
	return all, err
}

// compressed returns data in the form of gzip, or nil if that is not shorter.
func compressed(data []byte) []byte {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level is valid
	_, err := w.Write(data)
	if err == nil {
		err = w.Close()
	}
	if err != nil || b.Len() >= len(data) {
		return nil
	}
	return b.Bytes()
}

// ServeHTTP answers with a file, whose address changes with its content.
func (a *assets) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	file, ok := a.files[r.PathValue("name")]
	if !ok || r.PathValue("hash") != a.hash {
		http.Error(w, "there is no such file", http.StatusNotFound)
		return
	}
	header, data := w.Header(), file.data
	header.Set("Content-Type", file.kind)
	header.Set("Cache-Control", "public, max-age=31536000, immutable")
	header.Set("Vary", "Accept-Encoding")
	if file.gzip != nil && acceptsGzip(r) {
		header.Set("Content-Encoding", "gzip")
		data = file.gzip
	}
	header.Set("Content-Length", strconv.Itoa(len(data)))
	_, _ = w.Write(data) // the client is gone
}

// acceptsGzip reports whether the client of a request reads gzip.
func acceptsGzip(r *http.Request) bool {
	for _, value := range r.Header.Values("Accept-Encoding") {
		for each := range strings.SplitSeq(value, ",") {
			name, weight, _ := strings.Cut(strings.TrimSpace(each), ";")
			if strings.EqualFold(name, "gzip") && strings.ReplaceAll(weight, " ", "") != "q=0" {
				return true
			}
		}
	}
	return false
}
