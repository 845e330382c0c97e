package postgres

import (
	"strings"
	"time"

	"github.com/weftrun/weft/checkpoint/blob"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/checkpoint/memory"
)

// BlobTable returns the blobs of a store as blobtest judges them.
func BlobTable(s *Store) blob.Table { return largeBlobs{s} }

// ScanDocuments returns the query of a scan of documents in a schema, and its parameters.
func ScanDocuments(s document.Scan, schema string) (string, []any) {
	text, args := scanDocuments(s)
	return strings.ReplaceAll(text, "{schema}", schema), args
}

// RetryFor returns the time limit of a call.
func (s *Store) RetryFor() time.Duration { return s.retryFor }

// ScanMemories returns the query of a scan of memories in a schema, and its parameters.
func ScanMemories(s memory.Scan, schema string) (string, []any) {
	text, args := memoryScanQuery(s)
	return strings.ReplaceAll(text, "{schema}", schema), args
}

// DocumentLocks returns the keys of the locks of a write to a schema: of its partition, and of its
// documents unless it locks the whole partition.
func DocumentLocks(schema string, w document.Write) (partition int64, ids []int64) {
	return documents{&Store{schema: schema}}.locks(w)
}
