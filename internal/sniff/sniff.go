package sniff

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/weftrun/weft/state"
)

// headBytes is how many bytes http.DetectContentType looks at.
const headBytes = 512

// Type returns the media type of what r has, and a reader of all of it. The type is
// application/octet-stream if the bytes show no other, and "" if r is empty.
func Type(r io.Reader) (mediaType string, whole io.Reader, err error) {
	buffered := bufio.NewReader(r)
	head, err := buffered.Peek(headBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", buffered, err
	}
	if len(head) > 0 {
		mediaType = http.DetectContentType(head)
	}
	return mediaType, buffered, nil
}

// Put stores what r has with put, and returns its name with its media type. Without a media type
// the first bytes decide.
func Put(ctx context.Context, put func(context.Context, io.Reader) (state.BlobRef, error), r io.Reader, mediaType string) (ref state.BlobRef, err error) {
	if mediaType == "" {
		if mediaType, r, err = Type(r); err != nil {
			return ref, err
		}
	}
	ref, err = put(ctx, r)
	ref.Type = mediaType
	return ref, err
}
