package blobs3

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/blob"
)

// Config has the settings of New. The zero value is ready for use.
type Config struct {
	// Prefix precedes the names of all objects. It mostly ends with a slash.
	Prefix string
	// Timeout bounds each request with its retries; 0 means 30 seconds.
	Timeout time.Duration
}

// New returns the blobs in a bucket. It sends no request.
func New(client *minio.Client, bucket string, c Config) blob.Table {
	c.Timeout = cmp.Or(c.Timeout, 30*time.Second)
	return blob.OverObjects(&objects{client, bucket, c})
}

// objects is a bucket as blob.Objects.
type objects struct {
	client *minio.Client
	bucket string
	Config
}

var _ blob.Objects = (*objects)(nil)

// typed turns an error of the client into one of package blob or checkpoint.
func (o *objects) typed(ctx context.Context, key string, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil { // the caller's; a timeout of a request is not
		return fmt.Errorf("blobs3: bucket %q: %q: %w", o.bucket, key, ctx.Err())
	}
	if reply := (minio.ErrorResponse{}); errors.As(err, &reply) && reply.Code == minio.NoSuchKey {
		return blob.ErrNotFound
	}
	return fmt.Errorf("%w: blobs3: %s, bucket %q: %q: %w", checkpoint.ErrUnavailable, o.client.EndpointURL().Host, o.bucket, key, err)
}

// emptyType is the content type of an object that replaces an empty one, which some servers refuse.
const emptyType = "application/x-empty"

// Put implements blob.Objects.
func (o *objects) Put(ctx context.Context, key string, data []byte) error {
	bounded, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	options := minio.PutObjectOptions{ContentType: "application/octet-stream", DisableMultipart: true}
	if len(data) == 0 {
		data, options.ContentType = []byte("\n"), emptyType
	}
	_, err := o.client.PutObject(bounded, o.bucket, o.Prefix+key, bytes.NewReader(data), int64(len(data)), options)
	return o.typed(ctx, key, err)
}

// Get implements blob.Objects.
func (o *objects) Get(ctx context.Context, key string) ([]byte, error) {
	bounded, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	object, err := o.client.GetObject(bounded, o.bucket, o.Prefix+key, minio.GetObjectOptions{})
	if err != nil {
		return nil, o.typed(ctx, key, err)
	}
	data, err := io.ReadAll(object)
	if err == nil {
		var info minio.ObjectInfo
		if info, err = object.Stat(); info.ContentType == emptyType { // of the reply to the read
			data = nil
		}
	}
	if err := o.typed(ctx, key, errors.Join(err, object.Close())); err != nil {
		return nil, err
	}
	return data, nil
}

// List implements blob.Objects.
func (o *objects) List(ctx context.Context, prefix, after string, limit int) (keys []string, err error) {
	if err := ctx.Err(); err != nil {
		return nil, o.typed(ctx, prefix, err)
	}
	bounded, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	options := minio.ListObjectsOptions{Prefix: o.Prefix + prefix, Recursive: true, MaxKeys: limit}
	if after != "" {
		options.StartAfter = o.Prefix + after
	}
	for info := range o.client.ListObjectsIter(bounded, o.bucket, options) {
		if info.Err != nil {
			return nil, o.typed(ctx, prefix, info.Err)
		}
		if keys = append(keys, info.Key[len(o.Prefix):]); len(keys) == limit {
			break
		}
	}
	return keys, nil
}

// Delete implements blob.Objects.
func (o *objects) Delete(ctx context.Context, key string) error {
	bounded, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	return o.typed(ctx, key, o.client.RemoveObject(bounded, o.bucket, o.Prefix+key, minio.RemoveObjectOptions{}))
}
