package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/blob"
	"github.com/weftrun/weft/internal/markup"
	"github.com/weftrun/weft/internal/sniff"
	"github.com/weftrun/weft/internal/values"
	"github.com/weftrun/weft/server/wire"
)

// putBlob stores the body as a blob that the thread claims, and answers with its name, which a
// client puts into an input.
func putBlob(c *call) error {
	leave, err := c.server.upload()
	if err != nil {
		return err
	}
	defer leave()
	blobs, thread, err := c.blobs("update")
	if err != nil {
		return err
	}
	kind, err := blobType(c.Header.Get("Content-Type"))
	if err != nil {
		return err
	}
	body := &blobBody{Reader: http.MaxBytesReader(c.w, c.Body, c.server.limits.Blob), control: http.NewResponseController(c.w), end: time.Now().Add(c.server.limits.BodyTime)}
	ref, err := sniff.Put(c.Context(), blobs.Of(thread).Put, body, kind)
	var most *http.MaxBytesError
	switch {
	case errors.As(body.err, &most):
		return tooLarge("a blob must have at most %d bytes", most.Limit)
	case body.err != nil:
		return &wire.Error{Code: wire.CodeInvalidRequest, Detail: "the body must arrive whole", Status: http.StatusBadRequest}
	case err != nil:
		return err
	}
	if _, err := c.thread("update"); err != nil { // it was deleted meanwhile
		_, released := blobs.Release(context.WithoutCancel(c.Context()), thread, -1, func(context.Context) (map[string]bool, error) { return nil, nil })
		return errors.Join(err, released)
	}
	return c.answer(ref)
}

// getBlob answers with the content of a blob that the thread claims.
func getBlob(c *call) error {
	blobs, thread, err := c.blobs("read")
	if err != nil {
		return err
	}
	hash := c.PathValue("hash")
	if !blob.IsHash(hash) {
		return invalid("hash must have 64 hexadecimal digits in lower case (got %.100q)", hash)
	}
	_, claimed, err := blobs.Claimed(c.Context(), thread, hash)
	if err != nil {
		return err
	}
	if !claimed {
		return wire.Errorf(wire.CodeNotFound, "Thread %s has no blob %s", thread, hash)
	}
	content, err := blobs.Open(c.Context(), blob.Ref{Hash: hash})
	if errors.Is(err, blob.ErrNotFound) {
		return wire.Errorf(wire.CodeNotFound, "Thread %s has no blob %s", thread, hash)
	}
	if err != nil {
		return err
	}
	defer content.Close()
	header := c.w.Header()
	header.Set("Content-Type", bytesAnswer)
	header.Set("Content-Disposition", `attachment; filename="`+hash[:16]+`"`)
	if kind := c.URL.Query().Get("type"); markup.IsImage(kind) { // anything else could run scripts as a page of this server
		header.Set("Content-Type", kind)
		header.Set("Content-Disposition", "inline")
	}
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	header.Set("Cache-Control", "private, max-age=31536000, immutable")
	if _, err := io.Copy(c.w, struct{ io.Reader }{content}); err != nil { // in small parts, each with a bound
		c.server.log().WarnContext(c.Context(), "server: a blob was not sent whole", "thread_id", thread, "hash", hash, "request_id", c.id, "error", err)
		panic(http.ErrAbortHandler) // the client must not take a part for the whole
	}
	return nil
}

// blobs returns the blobs of the store, and the id of the thread of the path, if the caller may do
// the action to it.
func (c *call) blobs(action string) (*blob.Store, string, error) {
	t, err := c.thread(action)
	if err != nil {
		return nil, "", err
	}
	blobs, ok := checkpoint.BlobsIn(c.server.config.Store).(*blob.Store)
	if !ok {
		return nil, "", wire.Errorf(wire.CodeNotFound, "this server has no blobs")
	}
	return blobs, t.ThreadID, nil
}

// checkBlobs refuses values that name a blob that the thread does not claim: a hash alone must not
// show what another thread has.
func (c *call) checkBlobs(thread string, all ...json.RawMessage) error {
	blobs, ok := checkpoint.BlobsIn(c.server.config.Store).(*blob.Store)
	if !ok {
		return nil
	}
	for _, value := range all {
		if !bytes.Contains(value, []byte("blob")) && !bytes.Contains(value, []byte(`\u`)) { // \u escapes a letter
			continue
		}
		tree, err := values.Decode(value)
		if err != nil {
			return invalid("the body is not valid")
		}
		for hash, size := range blob.NamesIn(tree) {
			_, claimed, err := blobs.Claimed(c.Context(), thread, hash)
			if err != nil {
				return err
			}
			if !claimed {
				return invalid("thread %s has no blob %s; send its content to POST /threads/{thread_id}/blobs first", thread, hash)
			}
			err = blobs.CheckSize(c.Context(), hash, size)
			if e := (*blob.SizeError)(nil); errors.As(err, &e) {
				return invalid("%v", e)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// blobType returns the media type of a blob; "" is what its content shows. The types that programs
// send without being asked count as none.
func blobType(header string) (string, error) {
	if header == "" {
		return "", nil
	}
	kind, _, err := mime.ParseMediaType(header)
	if err != nil {
		return "", wire.Errorf(wire.CodeUnsupportedMedia, "the Content-Type must be a media type (got %.100q)", header)
	}
	if kind == "application/x-www-form-urlencoded" || kind == bytesAnswer {
		return "", nil
	}
	return kind, nil
}

// uploadRate is the least rate at which a body must arrive, in bytes a second.
const uploadRate = 16 << 10

// blobBody bounds the time of a body by its size.
type blobBody struct {
	io.Reader
	control *http.ResponseController
	end     time.Time
	err     error // of the body, and not of the store
}

func (b *blobBody) Read(p []byte) (int, error) {
	bounded := b.control.SetReadDeadline(b.end) == nil
	n, err := b.Reader.Read(p)
	b.end = b.end.Add(time.Duration(n) * time.Second / uploadRate)
	switch {
	case err != nil && err != io.EOF:
		b.err = err // the deadline stays: the rest of the body must not be waited for
	case bounded:
		_ = b.control.SetReadDeadline(time.Time{})
	}
	return n, err
}
