package checkpoint

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"iter"

	"github.com/weftrun/weft/state"
)

// An exported file has a header line, a line for each commit, and an end line. Commits are in
// order, oldest first, with the root namespace last. A line is a checksum, a space and a JSON
// object:
//
//	HASH {"format":"weft thread","version":1,"thread":"t1"}
//	HASH {"namespace":"","number":1,"id":"…","labels":{…},"record":{…},"refs":[…],…,"beside":[…]}
//	HASH {"end":true,"commits":1}
//
// A file of version 2 also has lines with the parts of blobs, before the first commit that refers
// to them:
//
//	HASH {"blob":"…","data":"…","more":true}
//
// HASH is the first 32 hex digits of the SHA-256 of all objects up to and including this one, each
// with its newline. So a line that is changed, moved, repeated or left out is detected. A value in
// the file is the JSON that was sealed; the file itself is not encrypted.
const (
	exportFormat  = "weft thread"
	exportVersion = 1
	exportBlobs   = 2         // the version of a file with blobs
	exportHash    = 32        // hex digits
	exportLine    = 256 << 20 // the longest line that Import reads, in bytes
)

type exportHead struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	Thread  string `json:"thread"`
}

// exportBlob is a part of a blob. The parts of a blob follow one another.
type exportBlob struct {
	Blob string `json:"blob"` // the hash
	Data []byte `json:"data"`
	More bool   `json:"more,omitempty"` // another part follows
}

// exportBody is a commit, a part of a blob, or the end of the file.
type exportBody struct {
	Namespace string            `json:"namespace"`
	Number    uint64            `json:"number,omitempty"`
	ID        string            `json:"id,omitempty"`
	Labels    map[string]string `json:"labels,omitempty"`
	Record    json.RawMessage   `json:"record,omitempty"`
	Refs      []exportPiece     `json:"refs,omitempty"`
	Blobs     []exportPiece     `json:"blobs,omitempty"`
	Pending   []exportEntry     `json:"beside,omitempty"`

	Blob string `json:"blob,omitempty"`
	Data []byte `json:"data,omitempty"`
	More bool   `json:"more,omitempty"`

	End     bool `json:"end,omitempty"`
	Commits int  `json:"commits,omitempty"`
}

// exportPiece is a Ref, or a Blob with its value.
type exportPiece struct {
	Field string          `json:"field"`
	Base  uint64          `json:"base"`
	Chunk int             `json:"chunk,omitempty"` // of a Ref: the last one
	Value json.RawMessage `json:"value,omitempty"`
}

type exportEntry struct {
	Task  string          `json:"task"`
	Slot  string          `json:"slot"`
	Value json.RawMessage `json:"value"`
}

// Export writes a thread, with all its namespaces, commits and entries, to w. Import reads it into
// any store, under any name. An unknown thread is an ErrNotFound.
func Export(ctx context.Context, store Store, thread string, w io.Writer) error {
	out := exporter{w: w, sum: sha256.New(), blobs: BlobsIn(store), thread: thread, sent: map[string]bool{}}
	version := exportVersion
	if out.blobs != nil {
		used, err := BlobsUsed(ctx, store, thread)
		if err != nil {
			return err
		}
		if len(used) > 0 {
			version = exportBlobs
		}
	}
	n := 0
	for c, err := range carried(ctx, store, thread) {
		if err == nil && n == 0 {
			err = out.line(exportHead{exportFormat, version, thread})
		}
		if err == nil {
			err = out.blobsOf(ctx, &c)
		}
		if err == nil {
			err = out.line(exported(c))
		}
		if err != nil {
			return err
		}
		n++
	}
	if n == 0 {
		return fmt.Errorf("%w: thread %q", ErrNotFound, thread)
	}
	return out.line(exportBody{End: true, Commits: n})
}

type exporter struct {
	w      io.Writer
	sum    hash.Hash
	blobs  Blobs
	thread string
	sent   map[string]bool // the hashes of the blobs that the file has
}

// blobsOf writes the blobs to which a commit refers and that the file does not have.
func (e *exporter) blobsOf(ctx context.Context, c *Commit) error {
	hashes, err := hashesIn(c)
	if err != nil {
		return err
	}
	for _, h := range hashes {
		if e.sent[h] {
			continue
		}
		if e.blobs == nil {
			return fmt.Errorf("%w: thread %q refers to the blob %.16s", ErrNoBlobs, e.thread, h)
		}
		if err := e.blob(ctx, h); err != nil {
			return err
		}
		e.sent[h] = true
	}
	return nil
}

// exportPart is how many bytes of a blob a line has.
const exportPart = 1 << 20

func (e *exporter) blob(ctx context.Context, hash string) error {
	r, err := e.blobs.Of(e.thread).Open(ctx, state.BlobRef{Hash: hash})
	if err != nil {
		return err
	}
	defer r.Close()
	part, next := make([]byte, exportPart), make([]byte, exportPart)
	n, err := io.ReadFull(r, part)
	for {
		m, end := 0, err
		if err == nil {
			m, end = io.ReadFull(r, next)
		}
		if end != nil && end != io.EOF && end != io.ErrUnexpectedEOF {
			return end
		}
		if err := e.line(exportBlob{hash, part[:n], m > 0}); err != nil || m == 0 {
			return err
		}
		part, next, n, err = next, part, m, end
	}
}

func (e *exporter) line(v any) error {
	object, err := json.Marshal(v)
	if err != nil {
		return err
	}
	object = append(object, '\n')
	_, err = fmt.Fprintf(e.w, "%s %s", running(e.sum, object), object)
	return err
}

// running adds an object to the running sum and returns the checksum of its line.
func running(sum hash.Hash, object []byte) string {
	sum.Write(object)
	return hex.EncodeToString(sum.Sum(nil))[:exportHash]
}

func exported(c Commit) exportBody {
	b := exportBody{Namespace: c.Namespace, Number: c.Seq(), ID: c.ID, Labels: c.Labels, Record: c.Header}
	for _, r := range c.Refs {
		b.Refs = append(b.Refs, exportPiece{r.Field, r.Base, r.Chunks, nil})
	}
	for _, p := range c.Blobs {
		b.Blobs = append(b.Blobs, exportPiece{p.Field, p.Base, p.Chunk, p.Data})
	}
	for _, e := range c.Pending {
		b.Pending = append(b.Pending, exportEntry{e.Task, e.Slot, e.Data})
	}
	return b
}

// Import reads a file that Export wrote and stores it as a new thread. A damaged file is an
// ErrCorrupt that names the line; a file of a newer version is an ErrUnsupported. When Import
// fails, it leaves no part of the thread in the store; a process that ends during Import may, see
// [Copy]. An existing thread is an ErrThreadExists.
// Timers of the thread are not in the file: see wake.Timers.Restore.
func Import(ctx context.Context, store Store, thread string, r io.Reader) error {
	m := mover{to: store, thread: thread}
	return bring(ctx, imported(ctx, r, &m), &m)
}

// imported yields the commits of a file, and gives its blobs to m.
func imported(ctx context.Context, r io.Reader, m *mover) iter.Seq2[Commit, error] {
	return func(yield func(Commit, error) bool) {
		in := importer{r: bufio.NewReaderSize(r, 64<<10), sum: sha256.New(), chains: map[string]*importChain{}}
		err := in.head()
		for n := 0; err == nil; n++ {
			var b exportBody
			if err = in.line(&b); err != nil {
				break
			}
			if b.Blob != "" {
				err = m.put(ctx, b.Blob, &importBlob{in: &in, part: b})
				n--
				continue
			}
			if b.End {
				if err = in.end(b, n); err == nil {
					return
				}
				break
			}
			var c Commit
			if c, err = in.commit(b); err != nil || !yield(c, nil) {
				break
			}
		}
		if err != nil {
			yield(Commit{}, err)
		}
	}
}

type importer struct {
	r      *bufio.Reader
	sum    hash.Hash
	n      int // number of the line, from 1
	chains map[string]*importChain
}

// importChain is the state of a namespace while it is read: its head, and the number of pieces of
// each run.
type importChain struct {
	head uint64
	runs map[blobRun]int
}

func (in *importer) corrupt(format string, args ...any) error {
	return fmt.Errorf("%w: line %d: %s", ErrCorrupt, in.n, fmt.Sprintf(format, args...))
}

func (in *importer) head() error {
	var h exportHead
	err := in.line(&h)
	switch {
	case err != nil:
		return err
	case h.Format != exportFormat:
		return in.corrupt("the file is not an exported thread")
	case h.Version != exportVersion && h.Version != exportBlobs:
		return fmt.Errorf("%w: the version of the file must be %d or %d (got %d)", ErrUnsupported, exportVersion, exportBlobs, h.Version)
	}
	return nil
}

// importBlob reads the parts of a blob.
type importBlob struct {
	in   *importer
	part exportBody
}

func (b *importBlob) Read(p []byte) (int, error) {
	for len(b.part.Data) == 0 {
		if !b.part.More {
			return 0, io.EOF
		}
		hash := b.part.Blob
		b.part = exportBody{}
		if err := b.in.line(&b.part); err != nil {
			return 0, err
		}
		if b.part.Blob != hash {
			return 0, b.in.corrupt("the rest of the blob %.16s is not in the file", hash)
		}
	}
	n := copy(p, b.part.Data)
	b.part.Data = b.part.Data[n:]
	return n, nil
}

// end returns an error if a commit is missing or data follows the end.
func (in *importer) end(b exportBody, commits int) error {
	if b.Commits != commits {
		return in.corrupt("the file must have %d commits (got %d)", b.Commits, commits)
	}
	if _, err := in.r.ReadByte(); err == nil {
		return in.corrupt("data follows after the end")
	} else if err != io.EOF {
		return err
	}
	return nil
}

// line reads the next line into v.
func (in *importer) line(v any) error {
	in.n++
	text, err := in.text()
	if err != nil {
		return err
	}
	if len(text) < exportHash+2 || text[exportHash] != ' ' {
		return in.corrupt("it does not begin with a checksum")
	}
	sum, object := text[:exportHash], text[exportHash+1:]
	if running(in.sum, object) != string(sum) {
		return in.corrupt("the checksum does not match")
	}
	d := json.NewDecoder(bytes.NewReader(object))
	if _, body := v.(*exportBody); body {
		d.DisallowUnknownFields()
	}
	if err := d.Decode(v); err != nil {
		return in.corrupt("%v", err)
	}
	return nil
}

// text reads up to the next newline.
func (in *importer) text() (line []byte, err error) {
	for {
		part, err := in.r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case err == nil:
			return line, nil
		case len(line) > exportLine:
			return nil, fmt.Errorf("%w: line %d of the file is longer than %d bytes", ErrTooLarge, in.n, exportLine)
		case errors.Is(err, bufio.ErrBufferFull):
		case err == io.EOF:
			return nil, in.corrupt("the file is cut off")
		default:
			return nil, err
		}
	}
}

// commit returns the commit of a line. It returns an error if the commit refers to blobs that the
// file does not have up to this line.
func (in *importer) commit(b exportBody) (Commit, error) {
	ch := in.chains[b.Namespace]
	if ch == nil {
		ch = &importChain{runs: map[blobRun]int{}}
		in.chains[b.Namespace] = ch
	}
	if b.Number <= ch.head {
		return Commit{}, in.corrupt("commit %d comes after commit %d", b.Number, ch.head)
	}
	c := Commit{Key: Key{Namespace: b.Namespace}, ID: b.ID, Head: ch.head, Number: b.Number, Labels: b.Labels, Header: b.Record}
	ch.head = b.Number
	for _, p := range b.Blobs {
		run := blobRun{p.Field, p.Base}
		if p.Chunk != ch.runs[run] {
			return Commit{}, in.corrupt("chunk %d of field %q, base %d, is out of order", p.Chunk, p.Field, p.Base)
		}
		ch.runs[run]++
		c.Blobs = append(c.Blobs, Blob{p.Field, p.Base, p.Chunk, p.Value})
	}
	for _, p := range b.Refs {
		if p.Chunk < 0 || p.Chunk >= ch.runs[blobRun{p.Field, p.Base}] {
			return Commit{}, in.corrupt("commit %d refers to chunk %d of field %q, base %d, which is not in the file", b.Number, p.Chunk, p.Field, p.Base)
		}
		c.Refs = append(c.Refs, Ref{p.Field, p.Base, p.Chunk})
	}
	for _, e := range b.Pending {
		c.Pending = append(c.Pending, Entry{Task: e.Task, Slot: e.Slot, Data: e.Value})
	}
	return c, nil
}
