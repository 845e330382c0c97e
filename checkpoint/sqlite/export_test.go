package sqlite

import (
	"github.com/weftrun/weft/checkpoint/blob"
	"github.com/weftrun/weft/checkpoint/topic"
)

// EventTable returns the table of the bus of a store.
func EventTable(s *Store) topic.Versioned { return events{s} }

// BlobTable returns the blobs of a store as blobtest judges them.
func BlobTable(s *Store) blob.Table { return largeBlobs{s} }
