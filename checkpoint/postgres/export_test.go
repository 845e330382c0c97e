package postgres

import "github.com/weftrun/weft/checkpoint/blob"

// BlobTable returns the blobs of a store as blobtest judges them.
func BlobTable(s *Store) blob.Table { return largeBlobs{s} }
