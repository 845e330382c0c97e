// Package blobs3 stores the blobs of package checkpoint/blob in a bucket of S3, or of a store with
// its interface. It is a module of its own, so that programs without it do not have its client.
//
//	client, err := minio.New("s3.eu-central-1.amazonaws.com", &minio.Options{
//		Creds: credentials.NewEnvAWS(), Secure: true,
//	})
//	blobs := blob.Over(blobs3.New(client, "my-bucket", blobs3.Config{Prefix: "weft/"}))
//	store, err := checkpoint.WithBlobs(threads, blobs, checkpoint.BlobOptions{})
//
// The bucket must exist, without versions and without rules that remove objects. The store must be
// strongly consistent, as S3 is: a listing has every object that was put before it. A chunk of 1
// MiB is an object; names and claims are objects without content. Collections need the permissions
// to list and to delete.
package blobs3
