// Package blob stores large values by their hash: images, files, recordings, and the fields of a
// state that have grown large. A content is stored once, beside the history, and is read and
// written as a stream.
//
//	blobs := blob.Over(blob.Folder("blobs")) // or sqlite, redis or postgres: (*Store).Blobs
//	store, err := checkpoint.WithBlobs(threads, blobs, checkpoint.BlobOptions{})
//	g, err := b.Compile(graph.Config{Store: store})
//
// A node then stores and opens contents with [state.Blob], [state.PutBlob] and [state.OpenBlob]:
//
//	type State struct {
//		Video state.Blob `json:"video"`
//	}
//
//	func fetch(ctx context.Context, s *State) error {
//		...
//		return s.Video.Store(ctx, response.Body)
//	}
//
// # Terms
//
//   - A [Ref] names a content by its SHA-256. It is what a state holds, and may be in any channel.
//   - An owner is what claims contents: a thread. A [Claim] is its counted reference.
//   - A [Store] hashes, encrypts and checks. A [Table] is its backend: [Map] in this process,
//     [Folder] in a directory, packages sqlite, redis and postgres beside the threads, or
//     [OverObjects] for any store of files by name. Package blobtest judges a Table.
//
// # What is guaranteed
//
//  1. A content is visible when it is complete, and not before. A reader of a content that has
//     changed gets an ErrCorrupt at its end, and never io.EOF.
//  2. A content is stored as long as an owner claims it. A put claims it, and before a commit is
//     stored the thread claims all contents to which its new values refer. If one is not stored,
//     the commit fails with a [MissingError].
//  3. [checkpoint.Prune] ends the claims to contents to which no commit and no pending entry of the
//     thread refers. A claim does not end within the grace after it was made or renewed. The grace
//     is for what a node has put and the run has not committed. It must be longer than a task, and
//     longer than a Put.
//  4. A crash at any write loses nothing that is claimed. What it leaves is removed by [Collect]
//     after the grace.
//  5. A Put and a reader hold one chunk of 1 MiB in memory, whatever the size.
//
// Contents in values that are JSON inside of a text are not found, since a text may be anything.
//
// # Encryption
//
// [Store.Sealed] encrypts contents with the keys of package checkpoint. The name of a content is
// then an HMAC of its SHA-256, so equal contents are stored once under each key, and names reveal
// nothing. Sizes and owners are not encrypted. A reader gets the decrypted beginning of a content
// before the end is checked; each chunk is authentic by itself.
package blob
