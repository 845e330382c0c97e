package studio

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"runtime/debug"
	"strconv"
	"sync"
)

// buildHeader names the program that has answered. A page of another program offers a reload.
const buildHeader = "X-Weft-Build"

// partsHeader with "first" asks for a page that may leave out the parts that take the most time. A
// page that has left some out has the same header.
const partsHeader = "X-Weft-Parts"

// build returns a name of the program with these assets.
func (a *assets) build() string {
	sum := sha256.New()
	sum.Write([]byte(a.hash))
	if info, ok := debug.ReadBuildInfo(); ok {
		sum.Write([]byte(info.String()))
	}
	return hex.EncodeToString(sum.Sum(nil)[:6])
}

// leastGzip is how many bytes an answer has at least that is compressed.
const leastGzip = 1400

var gzips = sync.Pool{New: func() any {
	w, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // the level is valid
	return w
}}

// reply answers a request with data, compressed if its client reads that.
func reply(w http.ResponseWriter, r *http.Request, status int, kind string, data []byte) {
	header := w.Header()
	header.Set("Content-Type", kind)
	header.Add("Vary", "Accept-Encoding")
	if len(data) >= leastGzip && acceptsGzip(r) {
		var b bytes.Buffer
		z := gzips.Get().(*gzip.Writer)
		z.Reset(&b)
		_, err := z.Write(data)
		if end := z.Close(); err == nil && end == nil {
			header.Set("Content-Encoding", "gzip")
			data = b.Bytes()
		}
		gzips.Put(z)
	}
	header.Set("Content-Length", strconv.Itoa(len(data)))
	w.WriteHeader(status)
	_, _ = w.Write(data) // the client is gone
}
